// Who is told an event, and how: the event's line is written to the turn's log once, and each observer's
// outbox refers to it.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Whether anybody observes a key.
    @inline(__always)
    mutating func isObserved(_ observable: ObservableHandle) -> Bool {
        if let known = keyspace[observable].isObserved(asOf: matching.generation) { return known }
        matching.rebuildObservers(of: observable, &keyspace, sessions, isSelective: isSelective)
        return keyspace[observable].hasObservers
    }

    /// Tells the observers of a key, if it has any, about an event. Call it before the value changes.
    @inline(__always)
    mutating func tellNews(
        _ event: KeyEvent,
        of observable: ObservableHandle,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason? = nil
    ) {
        if isObserved(observable) {
            tellObservers(News(event, of: observable, revision, to: value, by: author, cause, reason))
        }
    }

    /// A function of its own, so that the way of a write that nobody observes stays short.
    @inline(never)
    private mutating func tellObservers(_ news: borrowing News) {
        if !delivery.freed.isEmpty { tellFreed(besides: news.observable) }
        delivery.beginEvent()
        if news.event != .emit, keyspace[news.observable].hasAcknowledgers { return tellInPhases(news) }
        let next = Self.tellReaders(
            news, until: requests.effortEnd, keyspace, &matching, &sessions, &delivery, &insight
        )
        if let next { tellOthers(news, from: next) }
    }

    /// Tells observers at once, or renews a key that they are owed already, up to the first one that has to be
    /// owed the key. Returns the place of that one. The keyspace doesn't change, so it lends what the event
    /// tells. `effortEnd` is that of the turn.
    @inline(__always)
    private static func tellReaders(
        _ news: borrowing News,
        until effortEnd: UInt64,
        _ keyspace: borrowing Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight
    ) -> Int? {
        let tail = EventTail(news, keyspace)
        let observers = keyspace.observers(of: news.observable)
        insight.count(events: observers.count)
        var latest = LatestLine()
        for place in observers.indices {
            let observer = observers[place]
            if latest.isOf(observer), sessions[observer.session].extend(with: latest.line) { continue }
            let isTold = tellReader(
                news,
                tail,
                observer,
                until: effortEnd,
                &latest,
                keyspace,
                &matching,
                &sessions,
                &delivery,
                &insight
            )
            if !isTold { return place }
        }
        return nil
    }

    /// Tells an observer to whose outbox the last line can't simply be added, or renews what it is owed. Returns
    /// false if it has to be owed the key.
    @inline(never)
    private static func tellReader(
        _ news: borrowing News,
        _ tail: borrowing EventTail,
        _ observer: Recipient,
        until effortEnd: UInt64,
        _ latest: inout LatestLine,
        _ keyspace: borrowing Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight
    ) -> Bool {
        guard sessions[observer.session].keepsUp else {
            guard news.event == .update else { return false }
            guard matching[observer.subscription].backlog == nil else {
                return Owing.renew(news, to: observer.subscription, keyspace, matching, delivery, &insight)
            }
            guard effort(insight, matching, delivery) <= effortEnd,
                tellIndirect(news, tail, observer, keyspace, &matching, &sessions, &delivery)
            else { return false }
            if delivery.hasCopiedOut(&sessions) { latest = LatestLine() }
            return true
        }
        if !latest.isOf(observer) {
            let line = delivery.line(news.event, tail, observer.kind, for: &matching[observer.text])
            latest = LatestLine(observer, line)
            if sessions[observer.session].extend(with: line) { return true }
        }
        delivery.append(latest.line, to: observer.session, &sessions)
        if delivery.hasCopiedOut(&sessions) { latest = LatestLine() }
        return true
    }

    /// Tells an observer without a backlog, whose client has subscriptions with filters or backlogs. Returns false if
    /// the client is behind.
    @inline(__always)
    private static func tellIndirect(
        _ news: borrowing News,
        _ tail: borrowing EventTail,
        _ observer: Recipient,
        _ keyspace: borrowing Keyspace,
        _ matching: inout Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) -> Bool {
        let subscription = observer.subscription
        guard sessions[observer.session].isOpen, !sessions[observer.session].isBehind else { return false }
        let line = FilteredLine.find(
            news.event, tail, of: news.observable, subscription, keyspace, &matching, &delivery
        )
        if let line { delivery.append(line, to: observer.session, &sessions) }
        return true
    }

    /// Tells the observers from a place on. Some are told later, which changes the keyspace.
    @inline(never)
    private mutating func tellOthers(_ news: borrowing News, from place: Int) {
        var text = keyspace.lend(news.observable, by: news.author)
        deliver(news.event, text.tail(of: news), of: news.observable, from: place)
        keyspace.takeBack(&text, of: news.observable)
    }

    @inline(never)
    private mutating func tellInPhases(_ news: borrowing News) {
        var text = keyspace.lend(news.observable, by: news.author)
        tellInPhases(news.event, text.tail(of: news), of: news.observable)
        keyspace.takeBack(&text, of: news.observable)
    }

    /// Tells the observers of a key about a value that will end by itself, and what will end it.
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
            isWhileConnected: request.has(.whileConnected), milliseconds: request.timeToLive, to: &ending
        )
        var news = News(.update, of: observable, revision, to: value, by: author, request.cause, reason)
        news.ending = ending.bytes
        tellObservers(news)
    }

    /// Sends what the last event has set free. The key of the next event is kept meanwhile.
    @inline(never)
    private mutating func tellFreed(besides observable: ObservableHandle) {
        keyspace[observable].owedBy += 1
        for place in delivery.freed.indices where sessions[delivery.freed[place]].isBehind {
            settle(delivery.freed[place])
        }
        delivery.forgetFreed()
        keyspace[observable].owedBy -= 1
    }

    /// Tells the phases up to the first one that acknowledges, and owes the event to the others.
    private mutating func tellInPhases(_ event: KeyEvent, _ tail: EventTail, of observable: ObservableHandle)
    {
        let observers = keyspace.observers(of: observable).subscriptions
        let barrier = AckBarrier(
            for: event,
            of: observable,
            observers,
            from: tail.old,
            to: tail.value,
            keyspace,
            matching,
            sessions,
            &delivery,
            phases
        )
        insight.count(events: observers.count)
        var isHeld = false
        for subscription in observers where sessions[matching[subscription].session].isOpen {
            if let barrier, barrier.holds(matching[subscription]) {
                isHeld = true
                owe(event, tail, of: observable, to: subscription, isGated: true)
            } else {
                tellOrOwe(event, tail, of: observable, to: subscription)
            }
            _ = delivery.hasCopiedOut(&sessions)
        }
        if let barrier, isHeld {
            phases.close(observable, revision: tail.revision, barrier, &keyspace, &deadlines)
        }
    }

    /// Tells the observers of a key from a place on about one event, each at once or later.
    private mutating func deliver(
        _ event: KeyEvent, _ tail: borrowing EventTail, of observable: ObservableHandle, from place: Int
    ) {
        // Taken out meanwhile: nobody else needs the observers of a key while they are told.
        var observers = List<Recipient>()
        let extras = keyspace.observables.extras(of: observable)
        swap(&observers, &keyspace[extras].observers)
        defer { swap(&observers, &keyspace[extras].observers) }
        var latest = LatestLine()
        let told = observers.span
        for place in place..<told.count {
            let observer = told[place]
            if !latest.isOf(observer) { encode(event, tail, for: observer, &latest) }
            if latest.isOf(observer), sessions[observer.session].extend(with: latest.line) { continue }
            tell(event, tail, of: observable, to: observer, &latest)
        }
    }

    /// Finds or writes the event's line for an observer, if it is told now.
    @inline(never)
    private mutating func encode(
        _ event: KeyEvent, _ tail: borrowing EventTail, for observer: Recipient, _ latest: inout LatestLine
    ) {
        guard sessions[observer.session].keepsUp else { return }
        let line = delivery.line(event, tail, observer.kind, for: &matching[observer.text])
        latest = LatestLine(observer, line)
    }

    /// Tells an observer to whose outbox the line can't simply be added: it is the first in this turn, has
    /// much to read, or is told later.
    @inline(never)
    private mutating func tell(
        _ event: KeyEvent,
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

/// The event's line for the last observer. Most others get the same line.
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

// An event of a key on its way to observers. The key, the value before and the author's text are added where it
// is told; see `KeyTexts` and `LentText`.

/// What is told of a write.
struct News: ~Escapable {
    let event: KeyEvent
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
        _ event: KeyEvent,
        of observable: ObservableHandle,
        _ revision: UInt64,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason?
    ) {
        self.event = event
        self.observable = observable
        self.revision = revision
        self.value = value
        self.author = author
        self.cause = cause
        self.reason = reason
        ending = Span()
    }

    /// All that the event tells. `old` is the value before.
    @inline(__always)
    @_lifetime(copy self, copy key, copy old, copy by)
    func tail(_ key: Span<UInt8>, old: Span<UInt8>, by: Span<UInt8>) -> EventTail {
        var tail = EventTail(
            key: key,
            revision: revision,
            value: value,
            old: event == .emit ? Span() : old,
            by: by,
            cause: cause,
            reason: reason
        )
        tail.ending = ending
        return tail
    }
}
