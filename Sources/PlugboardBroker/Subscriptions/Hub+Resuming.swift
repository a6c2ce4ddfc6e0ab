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
        let since = decoder.options.since
        // What a client may see may have grown with the policy: then it missed more than is new.
        guard isOfThisLife(request, line), access.hasStood(since: since),
            !wanted.contains(where: { Key.isReserved($0.bytes(of: line)) })
        else { return .anew }
        let isRemembered = since >= history.completeSince
        if isRemembered, decoder.options.delivery == .latest || since == revision { return .remembered }
        if let place = durability.beginReading(after: since) { return .kept(place) }
        return isRemembered ? .remembered : .anew
    }

    /// Owes the newest of each key that was written since, deleted ones too; then `synced`.
    mutating func oweMissed(
        of wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ subscription: SubscriptionReference
    ) {
        beginOwing(to: subscription)
        for number in history.first(after: decoder.options.since)..<history.count {
            let entry = history[number]
            guard entry.operation != .emit,
                Self.isWanted(entry.observable, wanted, line, subscription.pointee.session)
            else { continue }
            owe(missed: entry, to: subscription)
        }
        subscription.pointee.backlog?.pointee.owesSynced = decoder.options.initial
        tellOwed(to: subscription)
        subscription.pointee.dropEmptyBacklog()
    }

    /// The deletes of keys that an observer may still know, and that are known here to be gone.
    func goneKeys(
        of wanted: [ByteRange],
        _ request: Request,
        _ line: Span<UInt8>,
        for session: SessionReference
    ) -> [History.Entry] {
        let first =
            isOfThisLife(request, line) ? history.first(after: decoder.options.since) : history.oldest
        var deletes: [ObservableReference: UInt64] = [:]
        for number in first..<history.count {
            let entry = history[number]
            guard entry.operation == .delete, !entry.observable.pointee.hasValue,
                Self.isWanted(entry.observable, wanted, line, session)
            else { continue }
            deletes[entry.observable] = number
        }
        return deletes.values.sorted().map { history[$0] }
    }

    /// Owes a write that an observer missed; of a key that it is owed already, the newer one.
    mutating func owe(missed entry: History.Entry, to subscription: SubscriptionReference) {
        let observable = entry.observable
        if entry.operation == .delete { observable.pointee.keepDeleter(entry.author) }
        if let owed = subscription.pointee.backlog?.pointee.keys.find(observable) {
            if owed.pointee.skipped < .max { owed.pointee.skipped += 1 }
            subscription.pointee.backlog?.pointee.keys.renew(owed, revision: entry.revision, event: 0)
            return
        }
        appendOwed(OwedKey(observable: observable, revision: entry.revision, .unsure), to: subscription)
    }

    /// Whether `since` is a revision that this life of the counter has had.
    private func isOfThisLife(_ request: Request, _ line: Span<UInt8>) -> Bool {
        let options = decoder.options
        if request.has(.epoch), String(options.epoch.bytes(of: line)) != epoch { return false }
        return options.since <= revision
    }

    private static func isWanted(
        _ observable: ObservableReference,
        _ wanted: [ByteRange],
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) -> Bool {
        let key = observable.pointee.key
        guard session.pointee.authorize(.subscribe, key) else { return false }
        return wanted.contains { Pattern.matches($0.bytes(of: line), key) }
    }
}
