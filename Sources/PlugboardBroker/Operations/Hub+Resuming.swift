// What an observer missed that was away: like one that reads slowly it is owed the newest
// of each key that was written meanwhile. Which ones, the history says, as far back as it
// goes; beyond that the current values are told anew.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// How a subscription begins: whether all that it missed since a revision is known, because the
    /// revision is one of this life, and the history or the journal goes back so far. Both leave
    /// out the broker's own keys; the history has no values, so that it can't tell all.
    func beginning(_ request: Request, _ wanted: [ByteRange], _ line: Span<UInt8>) -> Beginning {
        guard request.has(.since) else { return .fresh }
        let since = requests.decoder.options.since
        // What a client may see may have grown with the policy: then it missed more than is new.
        guard isOfThisLife(request, line), access.hasStood(since: since),
            !wanted.contains(where: { Key.isReserved($0.bytes(of: line)) })
        else { return .anew }
        let isRemembered = since >= keyspace.history.completeSince
        if isRemembered, requests.decoder.options.delivery == .latest || since == revision {
            return .remembered
        }
        if let place = durability.beginReading(after: since) { return .kept(place) }
        return isRemembered ? .remembered : .anew
    }

    /// Owes the newest of each key that was written since, deleted ones too; then `synced`.
    mutating func oweMissed(
        of wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ subscription: SubscriptionHandle
    ) {
        openBacklog(of: subscription).backlog.begin(
            at: revision,
            owingSynced: requests.decoder.options.initial
        )
        for number in keyspace.history.first(after: requests.decoder.options.since)..<keyspace.history.count {
            let entry = keyspace.history[number]
            guard entry.operation != .emit,
                isWanted(entry.observable, wanted, line, matching[subscription].session)
            else { continue }
            owe(missed: entry, to: subscription)
        }
        review(subscription)
    }

    /// The deletes of keys that an observer may still know, and that are known here to be gone.
    func goneKeys(
        of wanted: [ByteRange],
        _ request: Request,
        _ line: Span<UInt8>,
        for session: SessionHandle
    ) -> [History.Entry] {
        let first =
            isOfThisLife(request, line)
            ? keyspace.history.first(after: requests.decoder.options.since) : keyspace.history.oldest
        var deletes: [ObservableHandle: UInt64] = [:]
        for number in first..<keyspace.history.count {
            let entry = keyspace.history[number]
            guard entry.operation == .delete, !keyspace[entry.observable].hasValue,
                isWanted(entry.observable, wanted, line, session)
            else { continue }
            deletes[entry.observable] = number
        }
        return deletes.values.sorted().map { keyspace.history[$0] }
    }

    /// How many emits an observer missed, if it asks: those of the revision that it names and of later ones.
    func countEmits(
        of wanted: [ByteRange],
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> EmitCount? {
        guard request.has(.emits) else { return nil }
        let (first, present) = (requests.decoder.options.emits, revision)
        let isKnown = isOfThisLife(request, line) && first <= present && first >= keyspace.emits.completeSince
        let missed = isKnown ? countEmits(from: first, of: wanted, line, session) : nil
        return EmitCount(missed: missed, latest: countEmits(from: present, of: wanted, line, session))
    }

    private func countEmits(
        from revision: UInt64,
        of wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> UInt64 {
        var count: UInt64 = 0
        for place in keyspace.emits.places(from: revision)
        where isWanted(keyspace.emits.key(place), wanted, line, session) {
            count += keyspace.emits.times(place)
        }
        return count
    }

    /// Owes a write that an observer missed; of a key that it is owed already, the newer one.
    mutating func owe(missed entry: History.Entry, to subscription: SubscriptionHandle) {
        let observable = entry.observable
        if entry.operation == .delete { keyspace.keepDeleter(entry.author, of: observable) }
        oweMissed(observable, revision: entry.revision, to: subscription)
    }

    /// Whether `since` is a revision that this life of the counter has had.
    private func isOfThisLife(_ request: Request, _ line: Span<UInt8>) -> Bool {
        let options = requests.decoder.options
        if request.has(.epoch), String(options.epoch.bytes(of: line)) != keyspace.epoch { return false }
        return options.since <= revision
    }

    private func isWanted(
        _ observable: ObservableHandle,
        _ wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Bool {
        isWanted(keyspace[observable].key, wanted, line, session)
    }

    private func isWanted(
        _ key: Span<UInt8>,
        _ wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Bool {
        guard sessions[session].authorize(.subscribe, key) else { return false }
        return wanted.contains { Pattern.matches($0.bytes(of: line), key) }
    }
}

/// What a new subscription is told of emits that came before it.
struct EmitCount {
    /// Those that it asked for; nil if they are not all known.
    let missed: UInt64?
    /// Those that carry the present revision.
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
