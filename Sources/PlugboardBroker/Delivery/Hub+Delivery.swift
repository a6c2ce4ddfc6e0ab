// Who is told, and the telling: an event's line is written to the turn's log once, and
// each observer's outbox refers to it.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Brings an observable's list of observers up to date.
    @inline(__always)
    mutating func refreshObservers(of observable: ObservableHandle) {
        matching.refreshObservers(of: observable, &keyspace, sessions, isSelective: isSelective)
    }

    /// Whether there is anybody to be told of an event of a key.
    @inline(__always)
    mutating func isObserved(_ observable: ObservableHandle) -> Bool {
        if let known = keyspace[observable].isObserved(asOf: matching.generation) { return known }
        matching.rebuildObservers(of: observable, &keyspace, sessions, isSelective: isSelective)
        return keyspace[observable].hasObservers
    }

    /// Tells the observers of a key, if it has any, what becomes of it now. Call it before the value changes.
    @inline(__always)
    mutating func tellNews(
        _ event: Event,
        of observable: ObservableHandle,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason? = nil
    ) {
        if isObserved(observable) {
            tellObservers(event, of: observable, to: value, by: author, cause, reason)
        }
    }

    /// Apart from the way of a write that nobody observes: that is to be short.
    @inline(never)
    private mutating func tellObservers(
        _ event: Event,
        of observable: ObservableHandle,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason?,
        ending: Span<UInt8> = Span()
    ) {
        if !delivery.freed.isEmpty { tellFreed(besides: observable) }
        let by = keyspace.authors[author].by
        var tail = keyspace[observable].tail(of: event, revision: revision, to: value, by: by, cause, reason)
        tail.ending = ending.kept
        tell(event, tail, to: observable)
    }

    /// Tells the observers of a key of a value that will end by itself, and what ends it.
    @inline(never)
    mutating func tellBounded(
        _ request: Request,
        _ observable: ObservableHandle,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ reason: EventReason?
    ) {
        guard isObserved(observable) else { return }
        var ending = ByteBuffer()
        EventEncoder.appendEnd(
            isWhileConnected: request.has(.whileConnected),
            milliseconds: request.timeToLive,
            to: &ending
        )
        let bytes = ending.bytes.kept
        tellObservers(.update, of: observable, to: value, by: author, request.cause, reason, ending: bytes)
    }

    /// Tells what became free with the event before. The key of the next one stays meanwhile.
    @inline(never)
    private mutating func tellFreed(besides observable: ObservableHandle) {
        keyspace[observable].owedBy += 1
        for place in delivery.freed.indices where sessions[delivery.freed[place]].isBehind {
            settle(delivery.freed[place])
        }
        delivery.forgetFreed()
        keyspace[observable].owedBy -= 1
    }

    /// Tells the observers of a key one event. Call it before the value changes: `tail` may refer to
    /// the old one.
    @inline(always)
    private mutating func tell(_ event: Event, _ tail: borrowing EventTail, to observable: ObservableHandle) {
        if keyspace[observable].hasAcknowledgers, event != .emit {
            return tellInPhases(event, tail, of: observable)
        }
        deliver(event, tail, of: observable)
    }

    @inline(always)
    private mutating func deliver(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle
    ) {
        delivery.beginEvent()
        // Lent meanwhile: nobody else asks for the observers of a key while they are told of it.
        var observers = List<Recipient>()
        let audience = keyspace[observable].audience
        swap(&observers, &keyspace[audience].observers)
        defer { swap(&observers, &keyspace[audience].observers) }
        insight.count(events: observers.count)
        var latest = LatestLine()
        let told = observers.span
        for place in told.indices {
            let observer = told[place]
            if !latest.isOf(observer) { encode(event, tail, for: observer, &latest) }
            if latest.isOf(observer), sessions[observer.session].extend(with: latest.line) { continue }
            tell(event, tail, of: observable, to: observer, &latest)
        }
    }

    /// Finds or writes an event's line in an observer's words, if it is to be told now.
    @inline(never)
    private mutating func encode(
        _ event: Event,
        _ tail: borrowing EventTail,
        for observer: Recipient,
        _ latest: inout LatestLine
    ) {
        guard sessions[observer.session].keepsUp else { return }
        let line = delivery.line(event, tail, observer.kind, for: &matching[observer.text])
        latest = LatestLine(observer, line)
    }

    /// Tells an observer for whom the latest line is not just to be added: who is the first to be told
    /// in this turn, has much to read, or is told later.
    @inline(never)
    private mutating func tell(
        _ event: Event,
        _ tail: borrowing EventTail,
        of observable: ObservableHandle,
        to observer: Recipient,
        _ latest: inout LatestLine
    ) {
        if sessions[observer.session].keepsUp {
            delivery.append(latest.line, to: observer.session, &sessions)
        } else if event != .update || !renewOwed(observable, tail.revision, to: observer.subscription) {
            tellOrOwe(event, tail, of: observable, to: observer.subscription)
        }
        if delivery.hasCopiedOut(&sessions) { latest = LatestLine() }
    }
}

/// The line of the event under way for the last observer: most others are told the same.
private struct LatestLine {
    private(set) var line = ByteRange.none
    private var words = UInt64.max

    init() {}

    @inline(__always)
    init(_ observer: Recipient, _ line: ByteRange) {
        words = observer.words
        self.line = line
    }

    @inline(__always)
    func isOf(_ observer: Recipient) -> Bool { observer.words == words }
}
