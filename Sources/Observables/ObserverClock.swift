// The time, for gates. Tests have one of their own.

import Dispatch

/// Tells the time, and calls later.
struct ObserverClock: Sendable {
    private let time: @Sendable () -> ContinuousClock.Instant
    private let timer: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        after: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    ) {
        time = now
        timer = after
    }

    var now: ContinuousClock.Instant { time() }

    func after(_ duration: Duration, _ body: @escaping @Sendable () -> Void) {
        timer(duration, body)
    }

    /// The system's time. Calls come on a thread of the system's.
    static let system = ObserverClock {
        ContinuousClock.now
    } after: { duration, body in
        DispatchQueue.global().asyncAfter(deadline: .now() + duration / .seconds(1), execute: body)
    }
}
