// What an observer missed while it was away. Like a slow reader, it is owed the newest value of each key that
// was written meanwhile. The history or the journal knows these keys. If neither goes back far enough, the
// observer gets all current values.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

/// How a new subscription begins.
enum Beginning {
    case fresh
    /// With what the observer missed, from the history.
    case remembered
    /// With what the observer missed, from this place in the journal.
    case kept(ReadPlace)
    /// With all current values, because nobody knows what the observer missed.
    case anew

    /// All current values come first.
    var isWhole: Bool {
        switch self {
        case .fresh, .anew: true
        case .remembered, .kept: false
        }
    }

    var isResumed: Bool? {
        switch self {
        case .fresh: nil
        case .remembered, .kept: true
        case .anew: false
        }
    }
}

/// What a new subscription wants to know about the time before it.
struct Resumption: ~Escapable {
    private let asked: AskedRequest
    private let wanted: [ByteRange]
    private let options: RequestOptions

    @_lifetime(copy asked)
    init(_ asked: AskedRequest, _ wanted: [ByteRange], _ options: RequestOptions) {
        (self.wanted, self.options) = (wanted, options)
        self.asked = asked
    }

    /// How the subscription begins. All that it missed since a revision is known if the revision has this
    /// epoch, and the history or the journal goes back that far. Neither has the broker's own keys. The
    /// history has no values, so it isn't enough for `delivery` "all".
    func beginning(
        _ keyspace: borrowing Keyspace,
        _ durability: borrowing Durability,
        _ access: borrowing Access
    ) -> Beginning {
        guard asked.request.has(.since) else { return .fresh }
        // With another policy, the client may now see older keys that it couldn't see then.
        guard isOfThisLife(keyspace), access.hasStood(since: options.since), !wantsOwnKeys else {
            return .anew
        }
        let isRemembered = options.since >= keyspace.history.completeSince
        if isRemembered, options.delivery == .latest || options.since == keyspace.revision {
            return .remembered
        }
        if let place = durability.beginReading(after: options.since) { return .kept(place) }
        return isRemembered ? .remembered : .anew
    }

    /// The writes since then, including deletes.
    func missed(_ keyspace: borrowing Keyspace, _ session: borrowing Session) -> [History.Entry] {
        var missed: [History.Entry] = []
        for number in keyspace.history.first(after: options.since)..<keyspace.history.count {
            let entry = keyspace.history[number]
            guard entry.isChange, isWanted(keyspace[entry.observable].key, session) else {
                continue
            }
            missed.append(entry)
        }
        return missed
    }

    /// The latest deletes of keys that the observer may still know. Only keys that are still gone.
    func goneKeys(_ keyspace: borrowing Keyspace, _ session: borrowing Session) -> [History.Entry] {
        let first =
            isOfThisLife(keyspace) ? keyspace.history.first(after: options.since) : keyspace.history.oldest
        var deletes: [ObservableHandle: UInt64] = [:]
        for number in first..<keyspace.history.count {
            let entry = keyspace.history[number]
            guard entry.operation == .delete, !keyspace[entry.observable].hasValue,
                isWanted(keyspace[entry.observable].key, session)
            else { continue }
            deletes[entry.observable] = number
        }
        var gone: [History.Entry] = []
        for number in deletes.values.sorted() { gone.append(keyspace.history[number]) }
        return gone
    }

    /// How many emits the observer missed, if it asks: those of the revision that it names and of later ones.
    func countEmits(_ keyspace: borrowing Keyspace, _ session: borrowing Session) -> EmitCount? {
        guard asked.request.has(.emits) else { return nil }
        let (first, present) = (options.emits, keyspace.revision)
        let isKnown = isOfThisLife(keyspace) && first <= present && first >= keyspace.emits.completeSince
        let missed = isKnown ? countEmits(from: first, keyspace, session) : nil
        return EmitCount(missed: missed, latest: countEmits(from: present, keyspace, session))
    }

    private func countEmits(
        from revision: UInt64,
        _ keyspace: borrowing Keyspace,
        _ session: borrowing Session
    ) -> UInt64 {
        var count: UInt64 = 0
        for place in keyspace.emits.places(from: revision)
        where isWanted(keyspace.emits.key(place), session) {
            count += keyspace.emits.times(place)
        }
        return count
    }

    /// Whether `since` is a revision of the current epoch.
    private func isOfThisLife(_ keyspace: borrowing Keyspace) -> Bool {
        let epoch = options.epoch.bytes(of: asked.line)
        if asked.request.has(.epoch), String(epoch) != keyspace.epoch { return false }
        return options.since <= keyspace.revision
    }

    private var wantsOwnKeys: Bool {
        for range in wanted where Key.isReserved(range.bytes(of: asked.line)) { return true }
        return false
    }

    private func isWanted(_ key: Span<UInt8>, _ session: borrowing Session) -> Bool {
        guard session.authorize(.subscribe, key) else { return false }
        for range in wanted where Pattern.matches(range.bytes(of: asked.line), key) { return true }
        return false
    }
}

/// What a new subscription learns about earlier emits.
struct EmitCount {
    /// The emits that it asked about; nil if not all of them are known.
    let missed: UInt64?
    /// The emits with the current revision.
    let latest: UInt64

    func append(to buffer: inout ByteBuffer) {
        buffer.append(#","emits":{"#)
        if let missed {
            buffer.append(#""missed":"#)
            buffer.append(decimal: missed)
            buffer.append(",")
        }
        buffer.append(#""latest":"#)
        buffer.append(decimal: latest)
        buffer.append("}")
    }
}
