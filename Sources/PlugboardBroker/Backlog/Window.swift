// The rhythm of a subscription with `every`. What was told lately is remembered by its
// key's hash: a key that wasn't is told at once, one that was is owed until the window
// ends, and with it all that comes after, so that the order holds. Two sets that take
// turns forget what is old without a clock for each key.

import PlugboardWire

/// When a throttled subscription may be told again.
struct Window {
    /// Nanoseconds between two lines of one key.
    let span: UInt64
    /// Keys told since the last tick, and since the one before.
    private var told: Set<UInt64> = []
    private var toldBefore: Set<UInt64> = []
    /// When a line was last told.
    private(set) var lastTold: UInt64 = 0
    /// The next tick, while one is coming: without it nothing is held.
    var ticket: DeadlineTicket?
    /// What was owed by that event passes, although a tick is coming.
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

    /// Lets everything pass that is owed by now.
    mutating func open(event: UInt64) {
        openEvent = event
    }

    /// Forgets what was told before the tick before this one.
    mutating func age() {
        toldBefore = told
        told = []
    }

    /// Forgets all: the last line was told a whole span ago.
    mutating func forget() {
        told = []
        toldBefore = []
    }
}
