// How far a comparison has got. Its changes go to the bus in a fixed order: by host, then by key. So a bridge
// that is killed in the middle and compares again knows what the bus had. If such a key is gone, it was
// deleted on the bus, and isn't brought back.

import PlugboardClient

/// Everything that etcd had at a revision, up to this key of this host, is on the bus.
struct ComparedPart: Codable, Sendable, Equatable {
    /// The revision of etcd with which the bus was compared.
    let etcd: Int
    /// The last change of this part: its host and its key.
    let host: String?
    let key: String

    /// How many parts are remembered. There are several if a bridge was killed in several comparisons.
    static let countMax = 8

    init(_ last: EtcdChange, at revision: Int) {
        (etcd, host, key) = (revision, last.host, last.key)
    }

    /// Whether the bus had this change when the part was complete.
    func covers(_ change: EtcdChange) -> Bool {
        change.revision <= etcd && !Self.precedes(host, key, change.host, change.key)
    }

    /// This part, and earlier ones that got further. If there are too many, the oldest is forgotten.
    func following(_ earlier: [ComparedPart]) -> [ComparedPart] {
        [self] + earlier.filter { Self.precedes(host, key, $0.host, $0.key) }.prefix(Self.countMax - 1)
    }

    /// The order in which the changes of a comparison go to the bus.
    static func precedes(_ one: EtcdChange, _ other: EtcdChange) -> Bool {
        precedes(one.host, one.key, other.host, other.key)
    }

    private static func precedes(_ host: String?, _ key: String, _ other: String?, _ otherKey: String) -> Bool
    {
        let (host, other) = (host ?? "", other ?? "")
        return host == other
            ? key.utf8.lexicographicallyPrecedes(otherKey.utf8)
            : host.utf8.lexicographicallyPrecedes(other.utf8)
    }

    var json: JSON {
        var members: [(name: String, value: JSON)] = [("etcd", .integer(etcd)), ("key", .string(key))]
        if let host { members.append(("host", .string(host))) }
        return .object(members)
    }
}
