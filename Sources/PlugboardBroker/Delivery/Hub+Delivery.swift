// Who is told an event, and how: the event's line is written to the turn's log once, and each observer's
// outbox refers to it.

import PlugboardMemory
import PlugboardWire

extension Hub {
    @inline(__always)
    mutating func isObserved(_ observable: ObservableHandle) -> Bool {
        refreshObservers(of: observable)
        return matching.reach.hasObservers(observable)
    }

    @inline(__always)
    mutating func refreshObservers(of observable: ObservableHandle) {
        matching.refreshObservers(of: observable, keyspace, sessions)
    }

    /// Tells what is about to happen to those who trace it, and to the observers of the key. Call it before the value
    /// changes. A function of its own, so that the way of a write that nobody observes stays short.
    @inline(never)
    mutating func announce(_ news: borrowing WriteEvent) {
        if insight.tracing.isOn { traceEvent(of: news) }
        if isObserved(news.observable) {
            keyspace.history.readTime()
            tellObservers(news)
        }
    }

    /// The same for a value that will end by itself as the request says.
    @inline(never)
    mutating func announce(_ news: borrowing WriteEvent, endingAs request: Request) {
        var ending = ByteBuffer()
        EventEncoder.appendEnd(
            isWhileConnected: request.has(.whileConnected), milliseconds: request.timeToLive, to: &ending
        )
        var news = copy news
        news.ending = ending.bytes
        announce(news)
    }

    /// Tells each observer at once, or owes it the event. Telling changes nothing of the keyspace, and borrows from it
    /// what is told.
    @inline(__always)
    private mutating func tellObservers(_ news: borrowing WriteEvent) {
        if !delivery.freed.isEmpty { tellFreed(besides: news.observable) }
        delivery.log.beginEvent()
        if news.event != .emit, matching.reach.hasAcknowledgers(news.observable) { return tellInPhases(news) }
        // Taken out meanwhile: nobody else needs the observers of a key while they are told.
        var observers = List<ObserverEntry>()
        matching.reach.exchange(&observers, of: news.observable)
        let areMany =
            observers.count >= ReaderRuns.listMin && !matching.lanes.isEmpty && news.event != .emit
        if areMany {
            tellMany(news, observers.span)
        } else {
            insight.count(events: observers.count)
            tell(news, observers.span)
        }
        matching.reach.exchange(&observers, of: news.observable)
        if areMany, requests.batch.isEmpty { countOwedToRuns() }
    }

    /// The same for very many observers. Readers that wait, and to whom this event means nothing new, are passed by
    /// together.
    @inline(never)
    private mutating func tellMany(_ news: borrowing WriteEvent, _ observers: Span<ObserverEntry>) {
        var runs = ReaderRuns()
        matching.reach.exchange(&runs, of: news.observable)
        let isWorthwhile = runs.begin(at: matching.lanes.moves)
        var (start, passed) = (0, 0)
        for index in runs.all.indices {
            let run = runs.all[index]
            tell(news, observers.extracting(start..<run.places.lowerBound))
            start = run.places.lowerBound
            guard runs.owe(note(news, in: run.lane, isGated: false), toRun: index) else { continue }
            start = run.places.upperBound
            passed += run.places.count
        }
        tell(news, observers.extracting(start...))
        insight.count(events: observers.count - passed)
        if isWorthwhile { find(&runs, in: observers) }
        if runs.hasUncounted { matching.reach.addUncounted(news.observable) }
        matching.reach.exchange(&runs, of: news.observable)
    }

    private func find(_ runs: inout ReaderRuns, in observers: Span<ObserverEntry>) {
        for place in observers.indices where matching[observers[place].subscription].isPassedBy {
            runs.add(matching[observers[place].subscription].lag, at: place)
        }
        runs.endFinding(at: matching.lanes.moves)
    }

    @inline(__always)
    private mutating func tell(_ news: borrowing WriteEvent, _ observers: Span<ObserverEntry>) {
        var latest = LatestLine()
        for place in observers.indices {
            let observer = observers[place]
            if latest.isOf(observer), sessions[observer.session].extend(with: latest.line) { continue }
            tellObserver(news, observer, &latest)
        }
    }

    /// Tells an observer to whose outbox the last line can't simply be added, or owes it the event.
    @inline(never)
    private mutating func tellObserver(
        _ news: borrowing WriteEvent, _ observer: ObserverEntry, _ latest: inout LatestLine
    ) {
        if sessions[observer.session].keepsUp {
            if !latest.isOf(observer) {
                let tail = EventTail(news, keyspace)
                let line = delivery.log.line(news.event, tail, observer.kind, for: &matching[observer.text])
                latest = LatestLine(observer, line)
                if sessions[observer.session].extend(with: line) { return }
            }
            delivery.append(latest.line, to: observer.session, &sessions)
        } else {
            tellOrOwe(news, to: observer.subscription)
        }
        if delivery.hasCopiedOut(&sessions) { latest = LatestLine() }
    }

    /// Sends what the last event has set free. The key of the next event is kept meanwhile.
    @inline(never)
    private mutating func tellFreed(besides observable: ObservableHandle) {
        matching.reach.retain(observable)
        delivery.beginFreed()
        for place in delivery.freed.indices where sessions[delivery.freed[place]].isBehind {
            settle(delivery.freed[place])
        }
        delivery.endFreed()
        matching.reach.release(observable)
    }

    /// Tells the phases up to the first one that acknowledges, and owes the event to the others.
    @inline(never)
    private mutating func tellInPhases(_ news: borrowing WriteEvent) {
        let observers = matching.reach.observers(of: news.observable).subscriptions
        let expected = ExpectedEvent(news, number: delivery.eventNumber)
        let barrier = barrier(for: expected, among: observers)
        insight.count(events: observers.count)
        var isHeld = false
        for subscription in observers {
            let isGated = barrier?.holds(matching[subscription]) == true
            tellOrOwe(news, to: subscription, isGated: isGated)
            if isGated, sessions[matching[subscription].session].isOpen { isHeld = true }
            _ = delivery.hasCopiedOut(&sessions)
        }
        if let barrier, isHeld { close(news.observable, revision: news.revision, barrier) }
    }
}

/// The event's line for the last observer. Most others get the same line.
private struct LatestLine {
    private(set) var line = ByteRange.none
    private var words = UInt64.max

    init() {}

    @inline(__always)
    init(_ observer: ObserverEntry, _ line: ByteRange) {
        words = observer.words
        self.line = line
    }

    @inline(__always)
    func isOf(_ observer: ObserverEntry) -> Bool { observer.words == words }
}

// An event of a key on its way to observers. The key, the value before and the author's text are added where it
// is told: the keyspace has them, and doesn't change meanwhile; see `EventTail`.

struct WriteEvent: ~Escapable {
    let operation: Operation
    let observable: ObservableHandle
    let revision: UInt64
    let value: Span<UInt8>
    let author: AuthorHandle
    let cause: WriteCause
    let reason: EventReason?
    /// What will end the value, as text for the event; empty if nothing will.
    var ending: Span<UInt8>

    @inline(__always)
    @_lifetime(copy value)
    init(
        _ operation: Operation,
        of observable: ObservableHandle,
        _ revision: UInt64,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason? = nil
    ) {
        self.operation = operation
        self.observable = observable
        self.revision = revision
        self.value = value
        self.author = author
        self.cause = cause
        self.reason = reason
        ending = Span()
    }

    @inline(__always) var event: EventKind { EventKind(operation) }

    /// The value before it; empty for an emit.
    @inline(__always)
    @_lifetime(borrow keyspace)
    func old(in keyspace: borrowing Keyspace) -> Span<UInt8> {
        event == .emit ? Span() : keyspace.value(of: observable)
    }
}
