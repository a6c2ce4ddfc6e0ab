// Values of other hosts say whether their host is alive by the connection that wrote them. Where that has closed
// although the host is alive (the bridge was killed, or the host came back), the value is written anew, over the
// host's connection. For the mirror nothing changes by that but the key's revision on the bus.

extension Mirror {
    /// Whether the bus still has this value, as far as is known, and etcd, too.
    func isCurrent(_ value: BusValue) -> Bool {
        guard let state = keys[value.key] else { return false }
        return state.revision == value.revision && state.value != nil && !state.isOwed
    }

    /// What the bridge has written in the name of a host, as it is on the bus.
    func values(of host: String, named name: (String) -> String) -> [BusValue] {
        keys.compactMap { key, state in
            guard let value = state.value, let author = state.host, name(author) == name(host) else {
                return nil
            }
            return BusValue(key: key, revision: state.revision, value: value, origin: state.origin)
        }
    }

    /// Notes that values were written anew at a revision of the bus.
    mutating func revived(_ values: [BusValue], at revision: Int) {
        ownRevisions.insert(revision)
        for value in values { keys[value.key]?.revision = revision }
    }
}
