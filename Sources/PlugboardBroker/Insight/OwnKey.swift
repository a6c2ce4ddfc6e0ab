// The broker's own keys. They are made when somebody subscribes to them or asks for one, updated once a
// second while they are observed, and gone otherwise. The hub writes them like other keys. The history leaves
// them out, because they would push other writes out of it.

import PlugboardMemory
import PlugboardWire

/// One of the broker's own keys.
enum OwnKey {
    case stats, warnings, services
    /// A client's key, which need not have a value.
    case client(SessionHandle)

    static var prefix: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.").bytes }
    }
    private static var clients: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.clients.").bytes }
    }

    /// Those that match a pattern.
    static func all(matching pattern: Span<UInt8>, _ sessions: borrowing SessionTable) -> [OwnKey] {
        var all: [OwnKey] = []
        for key in [OwnKey.stats, .warnings, .services]
        where Pattern.matches(pattern, key.text(sessions).bytes) {
            all.append(key)
        }
        // A pattern that can't match keys of clients costs nothing here.
        let literal = Pattern.literalPrefix(pattern)
        let shorter = min(literal.count, clients.count)
        guard literal[..<shorter].isEqual(to: clients[..<shorter]) else { return all }
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot), sessions[session].isOpen else { continue }
            let key = OwnKey.client(session)
            if Pattern.matches(pattern, key.text(sessions).bytes) { all.append(key) }
        }
        return all
    }

    /// The key itself.
    func text(_ sessions: borrowing SessionTable) -> ByteBuffer {
        var text = ByteBuffer()
        switch self {
        case .stats: text.append("$broker.stats")
        case .warnings: text.append("$broker.warnings")
        case .services: text.append("$broker.services")
        case .client(let session):
            text.append(Self.clients)
            text.append(decimal: sessions[session].client)
        }
        return text
    }

    /// Appends its present value, or nothing if it stays as it is.
    func append(
        _ now: UInt64,
        _ insight: inout Insight,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ calls: inout Calls,
        to value: inout ByteBuffer
    ) {
        switch self {
        case .stats:
            let known = keyspace.find(text(sessions).bytes)
            if insight.areStatsFresh(at: now), let known, keyspace[known].hasValue { return }
            insight.appendStats(now, keyspace, sessions, &calls, to: &value)
        case .warnings: insight.warnings.append(to: &value)
        case .services: sessions.appendServices(keyspace, to: &value)
        case .client(let session):
            if sessions[session].isListed { sessions[session].appendState(keyspace, matching, to: &value) }
        }
    }

    /// Whether somebody observes it.
    func isObserved(
        _ keyspace: inout Keyspace,
        _ matching: inout Matching,
        _ sessions: borrowing SessionTable,
        isSelective: Bool
    ) -> Bool {
        let text = text(sessions)
        if let observable = keyspace.find(text.bytes) {
            matching.refreshObservers(of: observable, &keyspace, sessions, isSelective: isSelective)
            return keyspace[observable].hasObservers
        }
        matching.find(text.bytes, nil, keyspace, sessions, isSelective: isSelective)
        return !matching.found.isEmpty
    }

    /// Whether somebody observes such a key by its exact name, whether it exists or not.
    static func hasExactObserver(_ keyspace: borrowing Keyspace) -> Bool {
        var next = keyspace.first(from: prefix)
        while let observable = next, keyspace[observable].key.starts(with: prefix) {
            if keyspace[observable].hasExactObservers { return true }
            next = keyspace.next(after: observable)
        }
        return false
    }
}
