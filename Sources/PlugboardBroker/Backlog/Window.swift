// When a subscription with `every` may get the next line of a key. Keys that were sent lately are remembered
// by their hash. Any other key is sent at once. A remembered key is owed until the window ends, and all later
// events with it, so that the order holds. Two sets that take turns forget old keys without a clock for each.

import PlugboardWire

/// The window of a throttled subscription.
struct Window {
    /// Nanoseconds between two lines of one key.
    let span: UInt64
    /// Keys sent since the last tick, and since the tick before.
    private var told: Set<UInt64> = []
    private var toldBefore: Set<UInt64> = []
    /// When a line was last sent.
    private(set) var lastTold: UInt64 = 0
    /// The next tick; nil if none is coming. Then nothing is held back.
    var ticket: DeadlineTicket?
    /// Events up to this one pass, although a tick is coming.
    private var openEvent: UInt64 = 0

    init(milliseconds: UInt32) {
        span = UInt64(milliseconds) * 1_000_000
    }

    var isTicking: Bool { ticket != nil }

    /// Whether an event of a key must wait.
    func holds(_ keyHash: UInt64, event: UInt64 = .max) -> Bool {
        isTicking && event > openEvent && (told.contains(keyHash) || toldBefore.contains(keyHash))
    }

    mutating func note(_ keyHash: UInt64, at now: UInt64) {
        told.insert(keyHash)
        lastTold = now
    }

    /// Lets all pass that is owed now.
    mutating func open(event: UInt64) {
        openEvent = event
    }

    /// Forgets keys that were sent before the previous tick.
    mutating func age() {
        toldBefore = told
        told = []
    }

    /// Forgets all, because the last line was sent a whole span ago.
    mutating func forget() {
        told = []
        toldBefore = []
    }
}
