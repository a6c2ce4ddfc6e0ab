// Whether a program was asked to stop, and whether it was asked again. Two signals at once count as
// one: `timeout` signals the program and then its whole process group, and a wrapper passes on what
// a terminal has sent already.

import PlugboardPosix

/// Signals that ask for the end.
struct StopRequest {
    /// A signal that comes within this time after the first counts as the same one.
    static let repeatedSeconds = 0.5

    private var firstNanoseconds: UInt64?

    /// Whether the program was asked to stop.
    var isThere: Bool { firstNanoseconds != nil }

    /// Notes a signal. Returns true if it is the second one, which means not to wait any longer.
    mutating func take(at now: UInt64) -> Bool {
        guard let first = firstNanoseconds else {
            firstNanoseconds = now
            return false
        }
        return now - min(now, first) >= UInt64(Self.repeatedSeconds * 1e9)
    }

    /// Notes all signals that came. Returns true if one of them is the second one.
    mutating func takeAll(of signals: Signals) -> Bool {
        var isImpatient = false
        while signals.next() != nil {
            if take(at: MonotonicClock.nanoseconds()) { isImpatient = true }
        }
        return isImpatient
    }
}
