// What the bridge remembers on the bus. It is written in the same batch as the values from etcd, so a bridge
// that is killed at any moment applies nothing twice and leaves nothing out.

import PlugboardClient

/// The value of `bridge.<name>.cursor`.
struct BridgeCursor: Codable, Sendable, Equatable {
    /// Everything in etcd up to this revision is on the bus.
    var etcd: Int
    /// The cluster that this revision belongs to.
    var cluster: Int
    /// Everything that was written on the bus up to this revision is in etcd.
    var settled: Int
    /// The epoch of the bus's revisions.
    var epoch: String
    /// A part of the identifiers of this host's writes.
    var bridge: String
    /// How many conflicts there have been.
    var conflicts: Int
    /// The revision of this host's last fence. If the fence is older or gone, etcd was restored from a
    /// backup, even if its revision has grown past the cursor since.
    var fence: Int?
    /// What an unfinished comparison has brought to the bus, and earlier ones that got further.
    var compared: [ComparedPart]?
    /// Values that etcd refused, with their revisions. It doesn't have them, although they are before
    /// `settled`.
    var refused: [String: Int]?

    /// The same as an encoder writes. It is a part of each batch.
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
    /// The lost write as it is kept, with the write that won.
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
