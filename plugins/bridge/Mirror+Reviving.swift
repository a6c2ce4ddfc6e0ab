// Values of other hosts show by their connection whether the host is alive. If the connection has closed
// although the host is alive (the bridge was killed, or the host came back), the value is written again over
// the host's new connection. For the mirror, this only changes the key's revision on the bus.

extension Mirror {
    /// Whether both the bus and etcd still have this value, as far as is known.
    func isCurrent(_ value: BusValue) -> Bool {
        guard let state = keys[value.key] else { return false }
        return state.revision == value.revision && state.value != nil && !state.isOwed
    }

    /// The values that the bridge has written in a host's name.
    func values(of host: String, named name: (String) -> String) -> [BusValue] {
        keys.compactMap { key, state in
            guard let value = state.value, let author = state.host, name(author) == name(host) else {
                return nil
            }
            return BusValue(key: key, revision: state.revision, value: value, origin: state.origin)
        }
    }

    /// Notes that values were written again at a revision of the bus.
    mutating func revived(_ values: [BusValue], at revision: Int) {
        ownRevisions.insert(revision)
        for value in values { keys[value.key]?.revision = revision }
    }
}
