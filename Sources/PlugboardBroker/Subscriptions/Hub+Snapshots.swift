// What a subscription begins with: the current values in the order in which they were
// written, then `synced`. Owed like anything else, so one of any size takes no more room
// than the outbox.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Owes the current values in the order they were written, and among them the deletes of keys
    /// that are `gone`; then `synced`. Of very many values only the first are held against a
    /// filter now, the others when they are to be told.
    mutating func oweSnapshot(
        of wanted: [ByteRange],
        gone: [History.Entry],
        _ line: Span<UInt8>,
        _ subscription: SubscriptionReference
    ) {
        beginOwing(to: subscription)
        var gone = gone[...]
        // What comes after a queued line must be judged before it.
        var budget = subscription.pointee.delivery == .all ? Int.max : Self.examinedBytesMax
        for observable in currentValues(
            of: wanted.map { Array($0.bytes(of: line)) },
            for: subscription.pointee.session
        ) {
            while let entry = gone.first, entry.revision < observable.pointee.revision {
                owe(missed: entry, to: subscription)
                gone.removeFirst()
            }
            if subscription.pointee.filter != nil, budget > 0 {
                budget -= Self.examinedBytes(observable)
                let value = observable.pointee.value
                guard isConcerned(subscription, .update, from: Span(), to: value) else { continue }
            }
            let owed = OwedKey(observable: observable, revision: observable.pointee.revision, .nothing)
            appendOwed(owed, to: subscription)
        }
        for entry in gone { owe(missed: entry, to: subscription) }
        subscription.pointee.backlog?.pointee.owesSynced = true
        tellOwed(to: subscription)
    }

    /// Before a new subscription is owed what it begins with.
    func beginOwing(to subscription: SubscriptionReference) {
        subscription.pointee.makeBacklog()
        subscription.pointee.backlog?.pointee.lastRevision = revision
        subscription.pointee.session.pointee.makeCatchup()
    }

    /// Tells at once as much of what a subscription is owed as there is room for: what is left for
    /// the end of the turn has others of the same client wait, and what comes for them be folded.
    mutating func tellOwed(to subscription: SubscriptionReference) {
        let session = subscription.pointee.session
        let isFirst = !session.pointee.isBehind
        readyIfFree(subscription)
        if isFirst, session.pointee.isBehind { settle(session) }
    }

    /// Keys of one batch share a revision; the same key stands side by side.
    private static func precedes(_ one: ObservableReference, _ other: ObservableReference) -> Bool {
        if one.pointee.revision != other.pointee.revision {
            return one.pointee.revision < other.pointee.revision
        }
        return one != other && KeyOrder.precedes(one.pointee.key, other.pointee.key)
    }

    /// The keys with a value that match, in the order in which they were written.
    func currentValues(
        of patterns: [[UInt8]],
        for session: SessionReference
    ) -> [ObservableReference] {
        var found: [ObservableReference] = []
        for pattern in patterns {
            let pattern = pattern.span
            if Pattern.hasWildcard(pattern) {
                _ = forEachMatch(of: pattern, for: session) {
                    found.append($0)
                    return true
                }
            } else if let observable = observables.find(pattern, hash: observables.hash(pattern)),
                observable.pointee.hasValue, session.pointee.authorize(.subscribe, pattern)
            {
                found.append(observable)
            }
        }
        found.sort(by: Self.precedes)
        var last: ObservableReference?
        return found.filter { observable in
            defer { last = observable }
            return observable != last
        }
    }
}
