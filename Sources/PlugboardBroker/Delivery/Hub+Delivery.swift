// Who is told, and the telling: an event's line is written to the turn's log once, and
// each observer's outbox refers to it.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Brings an observable's list of observers up to date.
    @inline(__always)
    mutating func refreshObservers(of observable: ObservableReference) {
        if observable.pointee.observersGeneration != patterns.generation { rebuildObservers(of: observable) }
    }

    /// Whether there is anybody to be told of an event of a key.
    @inline(__always)
    mutating func isObserved(_ observable: ObservableReference) -> Bool {
        refreshObservers(of: observable)
        return !observable.pointee.observers.isEmpty
    }

    /// Tells the observers of a key, if it has any, what becomes of it now. Call it before the value changes.
    @inline(__always)
    mutating func tellNews(
        _ event: Event,
        of observable: ObservableReference,
        to value: Span<UInt8>,
        by author: AuthorReference,
        _ cause: WriteCause,
        _ reason: EventReason? = nil
    ) {
        guard isObserved(observable) else { return }
        let tail = EventTail(
            keyPrefix: observable.pointee.keyPrefix,
            revision: revision,
            value: value,
            old: event == .emit ? Span() : observable.pointee.value,
            by: author.pointee.by,
            cause: cause,
            reason: reason
        )
        tell(event, tail, to: observable)
    }

    /// Tells the observers of a key one event, where it is observed. Encode before the value
    /// changes: `tail` may refer to the old one.
    @inline(__always)
    mutating func tell(_ event: Event, _ tail: borrowing EventTail, to observable: ObservableReference) {
        if observable.pointee.hasAcknowledgers, event != .emit {
            return tellInPhases(event, tail, of: observable)
        }
        deliver(event, tail, of: observable, to: observable.pointee.observers.elements)
    }

    private mutating func deliver(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableReference?,
        to observers: UnsafeBufferPointer<SubscriptionReference>
    ) {
        log.beginEvent()
        own.events &+= UInt64(observers.count)
        for subscription in observers {
            let session = subscription.pointee.session
            guard subscription.pointee.isDirect, session.pointee.keepsUp else {
                if event == .update, let observable, renewOwed(observable, tail.revision, to: subscription) {
                    continue
                }
                tellOrOwe(event, tail, of: observable, to: subscription)
                if log.count > TurnLog.bytesMax { copyOutLog() }
                continue
            }
            touch(session)
            log.append(log.line(event, tail, for: subscription), to: &session.pointee.outbox)
            if session.pointee.outbox.count > Limits.highWaterBytes { noteUnread(session) }
            if log.count > TurnLog.bytesMax { copyOutLog() }
        }
    }

    /// Gives every session its share of the log, in the middle of an event if need be.
    @inline(never)
    mutating func copyOutLog() {
        for session in touched.elements { takeOverLog(session) }
        log.removeAll()
        log.beginEvent()
    }

    private mutating func rebuildObservers(of observable: ObservableReference) {
        matches.removeAll()
        for subscription in observable.pointee.exactObservers.elements { matches.append(subscription) }
        patterns.match(observable.pointee.key, into: &matches)
        if isSelective { dropForbidden(observable.pointee.key) }
        Self.arrange(&matches)
        observable.pointee.observers.removeAll()
        for subscription in matches.elements { observable.pointee.observers.append(subscription) }
        if matches.isEmpty { observable.pointee.observers.releaseMemory() }
        observable.pointee.hasAcknowledgers = matches.elements.contains { $0.pointee.acknowledges }
        observable.pointee.observersGeneration = patterns.generation
    }

    /// Orders by phase and age, and drops repeats, so that a subscription whose patterns overlap is
    /// told once.
    static func arrange(_ found: inout List<SubscriptionReference>) {
        var elements = found.mutableElements
        elements.sort { ($0.pointee.phase, $0.pointee.serial) < ($1.pointee.phase, $1.pointee.serial) }
        var kept = 0
        for index in 0..<elements.count where kept == 0 || elements[kept - 1] != elements[index] {
            elements[kept] = elements[index]
            kept += 1
        }
        found.truncate(to: kept)
    }
}
