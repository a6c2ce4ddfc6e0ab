// What stands between an observable and an observer whose events may have to wait: because of a pause, of
// `every`, of a condition or of a context. The observer's registration owns it. Invariants: the observer is
// called for one event at a time, in order, and never under the lock; once closed, no call begins. Observers
// without such options have no gate.

import Synchronization

/// What a control does with a gate.
protocol HeldGate: AnyObject, Sendable {
    var owed: Int { get }
    func step(_ count: Int)
    func goOn()
}

/// What a trace wants to know of a gate.
protocol GateOutcome: Sendable {
    /// What became of the last event that it was given.
    var outcome: ObserverOutcome { get }
}

/// A queue with rules in front of one observer.
final class ObserverGate<Event: Sendable>: HeldGate, GateOutcome {
    /// What a gate needs to know of its events.
    struct Rules: Sendable {
        /// Makes one event of two that follow each other; nil if events are never folded.
        var fold: (@Sendable (Event, Event) -> Event)?
        /// The observer's condition.
        var accepts: (@Sendable (Event) -> Bool)?
        /// Whether an event still says anything after it was folded.
        var isNews: (@Sendable (Event) -> Bool)?
    }

    private let options: ObserverOptions
    private let rules: Rules
    private let context: ObserverContext?
    private let clock: ObserverClock
    private let observer: @Sendable (Event) -> Void
    private let state: Mutex<GateQueue<Event>>

    init(
        _ options: ObserverOptions,
        _ rules: Rules = Rules(),
        context: ObserverContext? = nil,
        clock: ObserverClock = .system,
        _ observer: @escaping @Sendable (Event) -> Void
    ) {
        self.options = options
        self.rules = rules
        self.context = context
        self.clock = clock
        self.observer = observer
        let folds = rules.fold != nil && options.delivery == .latest
        state = Mutex(
            GateQueue(
                interval: options.interval, most: folds ? 1 : max(1, options.waitingMax), keepsAll: !folds
            )
        )
        options.control?.add(self)
    }

    var owed: Int { state.withLock { $0.count } }

    var outcome: ObserverOutcome { state.withLock { $0.outcome } }

    /// Takes an event, and delivers it now or later. Returns what became of it.
    @discardableResult
    func take(_ event: Event) -> ObserverOutcome {
        guard rules.isNews?(event) ?? true else {
            state.withLock { $0.outcome = .filtered }
            return .filtered
        }
        // The condition is the user's code: it isn't called under the lock.
        let isAccepted = rules.accepts?(event) ?? true
        let isPaused = isPaused
        let (isDue, isLagging, outcome, rest) = state.withLock { queue in
            let rest = queue.foldable
            let isLagging = queue.add(event, isAccepted, rules.fold)
            let isDue = queue.beginIfDue(clock.now, isPaused: isPaused)
            queue.outcome = queue.outcome(isPaused: isPaused, isDue: isDue, isLater: context != nil)
            return (isDue, isLagging, queue.outcome, rest)
        }
        // What was folded is released here, outside of the lock.
        withExtendedLifetime(rest) {}
        if isLagging { options.control?.noteLagged() }
        if isDue { deliver() } else { wakeUpLater() }
        return outcome
    }

    func step(_ count: Int) {
        begin { $0.allow(count) }
    }

    /// Delivers what has waited, because a pause is over.
    func goOn() {
        begin { $0.allow($0.count) }
    }

    /// Accepts and delivers nothing any more.
    func close() {
        let rest = state.withLock { $0.close() }
        withExtendedLifetime(rest) {}
    }

    /// Lets nothing pass any more, and keeps what waits until it is released.
    func shut() {
        state.withLock { $0.isClosed = true }
    }

    private var isPaused: Bool { options.control?.isPaused ?? false }

    private func begin(_ change: (inout GateQueue<Event>) -> Void) {
        let isPaused = isPaused
        let isDue = state.withLock { queue in
            change(&queue)
            return queue.beginIfDue(clock.now, isPaused: isPaused)
        }
        if isDue { deliver() } else { wakeUpLater() }
    }

    /// Calls the observer, for whoever has begun a delivery.
    private func deliver() {
        guard let context else {
            while deliverNext() {}
            return
        }
        context {
            // Those that come meanwhile wait for another turn of the context.
            for _ in 0..<max(1, self.owed) {
                guard self.deliverNext() else { return }
            }
            let isPaused = self.isPaused
            if self.state.withLock({ $0.goesOn(self.clock.now, isPaused: isPaused) }) {
                self.deliver()
            } else {
                self.wakeUpLater()
            }
        }
    }

    /// Delivers the next event that is due. Returns false if there is none.
    private func deliverNext() -> Bool {
        let isPaused = isPaused
        let next = state.withLock { $0.next(clock.now, isPaused: isPaused) }
        guard let event = next else {
            wakeUpLater()
            return false
        }
        if rules.isNews?(event) ?? true { observer(event) }
        return true
    }

    /// Sets a timer if something waits for its time.
    private func wakeUpLater() {
        guard options.interval != nil else { return }
        let (now, isPaused) = (clock.now, isPaused)
        guard let time = state.withLock({ $0.timeToWait(now, isPaused: isPaused) }) else { return }
        // It keeps the gate, so that the last event comes even if the observable goes meanwhile.
        clock.after(time) {
            self.begin { $0.isTimerSet = false }
        }
    }
}
