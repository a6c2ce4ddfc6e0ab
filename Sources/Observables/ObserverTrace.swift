// What a trace says: an event, and what became of it for each observer. The words are those of the bus.

/// What became of an event for an observer.
public enum ObserverOutcome: String, Sendable {
    /// The observer has been called.
    case sent
    /// It will be called: later, in its context, or when its `every` is over.
    case queued
    /// The same, but the event was folded with one that waits.
    case conflated
    /// It is paused. The event waits, alone or folded.
    case paused
    /// The event doesn't meet its condition, or the observer doesn't conform to the protocol where it was
    /// tried.
    case filtered
    /// There was no room for the event, or the observer has ended, or no call reaches it
    /// (``UnreachedObserver``).
    case dropped
}

/// A notification that is traced: who was told, and how.
///
/// ```swift
/// let price = ObservableValue(30)
/// let tag = price.observe(options: ObserverOptions(name: "tag")) { _ in }
/// let bargain = price.observe(options: ObserverOptions(name: "bargain"), where: { $0 < 10 }) { _ in }
/// let tracing = price.trace { trace in
///     print(trace.event.new, trace.observers.map { "\($0.name) \($0.outcome)" })
/// }
/// price.value = 25  // 25 ["tag sent", "bargain filtered"]
/// tracing.dispose()
/// bargain.dispose()
/// tag.dispose()
/// ```
public struct ObserverTrace<Event: Sendable>: Sendable {
    /// One of the observers, in the order in which they were told.
    public struct Observer: Sendable, Equatable {
        /// Its name in its options; or `#` and its number, or the name of its type.
        public let name: String
        public let phase: Int
        public let outcome: ObserverOutcome
        /// How long the call took; nil if it wasn't called at once.
        public let microseconds: Int?
    }

    public let event: Event
    /// At most ``ObserverOptions/tracedMax``.
    public let observers: [Observer]
    /// Whether there are more observers.
    public let hasMore: Bool
}

/// Collects what a trace says of a notification.
struct TraceNotes<Event: Sendable> {
    private var observers: [ObserverTrace<Event>.Observer] = []
    private var hasMore = false

    /// Makes a call and notes it. `call` returns what became of it.
    mutating func note(_ name: @autoclosure () -> String, _ phase: Int, _ call: () -> ObserverOutcome) {
        let start = ContinuousClock.now
        let outcome = call()
        let time = ContinuousClock.now - start
        guard observers.count < ObserverOptions.tracedMax else {
            hasMore = true
            return
        }
        let microseconds = outcome == .sent ? Int(time / .microseconds(1)) : nil
        observers.append(
            ObserverTrace.Observer(name: name(), phase: phase, outcome: outcome, microseconds: microseconds)
        )
    }

    func trace(of event: Event) -> ObserverTrace<Event> {
        ObserverTrace(event: event, observers: observers, hasMore: hasMore)
    }
}
