// What the bridge remembers on the bus, in one value that is written in the same batch as what it took from
// etcd. So a bridge that is killed at any moment applies nothing twice and leaves nothing out.

import PlugboardClient

/// The value of `bridge.<name>.cursor`.
struct BridgeCursor: Codable, Sendable, Equatable {
    /// Everything in etcd up to this revision is on the bus.
    var etcd: Int
    /// The cluster whose revision that is.
    var cluster: Int
    /// Everything that was written on the bus up to this revision is in etcd.
    var settled: Int
    /// The life of the bus's revision counter.
    var epoch: String
    /// Stands in the identifiers of this host's writes.
    var bridge: String
    /// How many conflicts there have been.
    var conflicts: Int
    /// The revision of this host's last fence. One that is older, or gone, shows that etcd was restored from a
    /// backup, also if its revision has grown past the cursor since.
    var fence: Int?
    /// What a comparison that isn't complete yet has brought to the bus, also earlier ones that went further.
    var compared: [ComparedPart]?
    /// Values that etcd refused, with their revisions: it doesn't have them although they are before `settled`.
    var refused: [String: Int]?

    /// The same that an encoder writes; it is a part of each batch.
    var json: JSON {
        var members: [(name: String, value: JSON)] = [
            ("etcd", .integer(etcd)), ("cluster", .integer(cluster)), ("settled", .integer(settled)),
            ("epoch", .string(epoch)), ("bridge", .string(bridge)), ("conflicts", .integer(conflicts)),
        ]
        if let fence { members.append(("fence", .integer(fence))) }
        if let refused {
            let keys = refused.sorted { $0.key < $1.key }
            members.append(("refused", .object(keys.map { ($0.key, .integer($0.value)) })))
        }
        if let compared { members.append(("compared", .array(compared.map(\.json)))) }
        return .object(members)
    }

    static func newBridge() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

/// The keys of a bridge on its own bus.
struct BridgeKeys: Sendable {
    let name: String

    var cursor: String { "bridge.\(name).cursor" }
    var status: String { "bridge.\(name).status" }
    /// Emitted for each write that lost.
    var conflict: String { "bridge.\(name).conflict" }
    var conflicts: String { "bridge.\(name).conflicts" }
    func conflict(_ number: Int) -> String { "\(conflicts).\(number)" }
}

extension LostWrite {
    /// The lost write as it is kept, with who was faster.
    func json(withValue: Bool = true) -> JSON {
        var members: [(name: String, value: JSON)] = [("key", .string(key))]
        if let value {
            if withValue { members.append(("value", value)) }
        } else {
            members.append(("deleted", .true))
        }
        if let by { members.append(("by", .string(by))) }
        members.append(("revision", .integer(revision)))
        var other: [(name: String, value: JSON)] = [("revision", .integer(winner.revision))]
        if let host = winner.host { other.append(("host", .string(host))) }
        if let by = winner.by { other.append(("by", .string(by))) }
        members.append(("winner", .object(other)))
        return .object(members)
    }
}
