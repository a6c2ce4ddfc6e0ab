// When a program is asked to stop, and when it is asked once more. `timeout` signals the program and
// then its whole process group, and a wrapper passes on what a terminal has sent already: two
// signals at once are one wish.

import PlugboardPosix

/// Signals that ask for the end.
struct StopWish {
    /// A signal that comes sooner after the first is the same wish.
    static let repeatedSeconds = 0.5

    private var firstNanoseconds: UInt64?

    /// Somebody asked.
    var isThere: Bool { firstNanoseconds != nil }

    /// Takes note of a signal; true where it is another wish than the first: not to wait any longer.
    mutating func take(at now: UInt64) -> Bool {
        guard let first = firstNanoseconds else {
            firstNanoseconds = now
            return false
        }
        return now - min(now, first) >= UInt64(Self.repeatedSeconds * 1e9)
    }

    /// Takes note of all signals that came; true where one of them is another wish.
    mutating func takeAll(of signals: Signals) -> Bool {
        var isImpatient = false
        while signals.next() != nil {
            if take(at: MonotonicClock.nanoseconds()) { isImpatient = true }
        }
        return isImpatient
    }
}
