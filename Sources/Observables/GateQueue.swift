// The events that wait at a gate, and the rules of when they may pass. The gate owns it, under its lock.
// Invariant: at most `most` events wait. No code of the user is run here, except that events are folded.

/// What waits in front of one observer.
struct GateQueue<Event: Sendable>: Sendable {
    private var waiting: [Event?] = []
    /// How many of `waiting` have passed. Their places are nil.
    private var passed = 0
    /// What became of the last event.
    var outcome = ObserverOutcome.sent
    var isTimerSet = false
    var isClosed = false

    private let interval: Duration?
    private let most: Int
    private let keepsAll: Bool
    /// Changes that the observer didn't want, and that go into the next one.
    private var left: Event?
    /// How many may pass, whatever the time and even during a pause.
    private var allowed = 0
    private var nextTime: ContinuousClock.Instant?
    private var isDelivering = false

    init(interval: Duration?, most: Int, keepsAll: Bool) {
        self.interval = interval
        self.most = most
        self.keepsAll = keepsAll
    }

    var count: Int { waiting.count - passed }

    /// What `add` may drop: to be released outside of the lock.
    var foldable: (Event?, Event?) { (left, keepsAll ? nil : waiting.last ?? nil) }

    /// Adds an event, or what it leaves of those that wait. Returns whether there was no room for it.
    mutating func add(_ event: Event, _ isAccepted: Bool, _ fold: ((Event, Event) -> Event)?) -> Bool {
        outcome = .queued
        guard !isClosed else {
            outcome = .dropped
            return false
        }
        guard isAccepted else {
            outcome = .filtered
            if let fold { leaveOut(event, fold) }
            return false
        }
        let event = takeLeft().map { left in fold?(left, event) ?? event } ?? event
        if count < most {
            waiting.append(event)
            return false
        }
        guard let fold, let last = takeLast() else {
            outcome = .dropped
            return true
        }
        waiting.append(fold(last, event))
        outcome = .conflated
        return keepsAll
    }

    /// Whether an event may pass, and nobody is delivering yet. If so, the caller has to deliver.
    mutating func beginIfDue(_ now: ContinuousClock.Instant, isPaused: Bool) -> Bool {
        guard !isDelivering, isDue(now, isPaused: isPaused) else { return false }
        isDelivering = true
        return true
    }

    /// The next event for whoever delivers. If there is none, the delivery is over.
    mutating func next(_ now: ContinuousClock.Instant, isPaused: Bool) -> Event? {
        guard isDue(now, isPaused: isPaused), let event = waiting[passed].take() else {
            isDelivering = false
            return nil
        }
        if let interval {
            if allowed == 0 { allowed = count }
            nextTime = now + interval
        }
        allowed = max(0, allowed - 1)
        passed += 1
        freePlaces()
        return event
    }

    /// Whether a delivery that was interrupted between two events goes on. If not, it is over.
    mutating func goesOn(_ now: ContinuousClock.Instant, isPaused: Bool) -> Bool {
        guard isDelivering else { return false }
        isDelivering = isDue(now, isPaused: isPaused)
        return isDelivering
    }

    mutating func allow(_ count: Int) {
        allowed = min(count, self.count)
    }

    /// How long to wait with a timer; nil if none is needed.
    mutating func timeToWait(_ now: ContinuousClock.Instant, isPaused: Bool) -> Duration? {
        guard let nextTime, count > 0, !isPaused, !isDelivering, !isTimerSet, !isClosed else {
            return nil
        }
        isTimerSet = true
        return max(.zero, nextTime - now)
    }

    /// Returns what is to be released outside of the lock.
    mutating func close() -> ([Event?], Event?) {
        isClosed = true
        defer { (waiting, passed, left) = ([], 0, nil) }
        return (waiting, left)
    }

    /// What a trace says of the last event.
    func outcome(isPaused: Bool, isDue: Bool, isLater: Bool) -> ObserverOutcome {
        switch outcome {
        case .filtered, .dropped: outcome
        case _ where isPaused: .paused
        case .conflated: .conflated
        default: isDue && !isLater ? .sent : .queued
        }
    }

    private func isDue(_ now: ContinuousClock.Instant, isPaused: Bool) -> Bool {
        if isClosed || count == 0 { return false }
        if allowed > 0 { return true }
        return !isPaused && nextTime.map { now >= $0 } ?? true
    }

    /// Notes a change that isn't wanted. If changes fold, it leaves nothing of one that waits.
    private mutating func leaveOut(_ event: Event, _ fold: (Event, Event) -> Event) {
        var event = event
        if let before = takeLeft() { event = fold(before, event) }
        if !keepsAll, let last = takeLast() {
            event = fold(last, event)
            allowed = min(allowed, count)
        }
        left = event
    }

    private mutating func takeLast() -> Event? {
        count > 0 ? waiting.popLast() ?? nil : nil
    }

    /// Frees the places of what has passed as soon as they are half of all.
    private mutating func freePlaces() {
        if passed == waiting.count {
            waiting.removeAll(keepingCapacity: passed <= 16)
            passed = 0
        } else if passed > 16, passed * 2 > waiting.count {
            waiting.removeFirst(passed)
            passed = 0
        }
    }

    private mutating func takeLeft() -> Event? {
        defer { left = nil }
        return left
    }
}
