// The broker's own keys: made when somebody subscribes to them or asks, looked at once a second while they are
// observed, gone when they are not. The hub writes them like any other key; the history leaves them out, or they
// would push others from it.

import PlugboardMemory
import PlugboardWire

/// One of the broker's own keys.
enum OwnKey {
    case stats, warnings, services
    /// A client's, which need not have a value.
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
        // Nobody's key is looked at for a pattern that can match none.
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

    /// Adds what it says now; nothing where it stays as it is.
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
            return !keyspace[observable].observers.isEmpty
        }
        matching.find(text.bytes, nil, keyspace, sessions, isSelective: isSelective)
        return !matching.found.isEmpty
    }

    /// Whether somebody waits for such a key by its name, there or not.
    static func hasExactObserver(_ keyspace: borrowing Keyspace) -> Bool {
        var next = keyspace.first(from: prefix)
        while let observable = next, keyspace[observable].key.starts(with: prefix) {
            if !keyspace[observable].exactObservers.isEmpty { return true }
            next = keyspace.next(after: observable)
        }
        return false
    }
}
