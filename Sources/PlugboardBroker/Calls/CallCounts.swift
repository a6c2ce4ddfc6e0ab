// How calls end: for `$broker.stats` all of them, and for `$broker.services` those of each service. What
// always holds: each call that was made was answered, has failed, or still waits.

import PlugboardMemory

/// How many calls were made, and how they ended.
struct CallCounts: BitwiseCopyable {
    private(set) var asked: UInt64 = 0
    private(set) var answered: UInt64 = 0
    private(set) var failed: UInt64 = 0
    /// For the answers since `resetTimes`: their number, the sum of their times, and the longest time.
    private var timed: UInt64 = 0
    private var nanoseconds: UInt64 = 0
    private var longest: UInt64 = 0

    mutating func noteAsked() { asked &+= 1 }

    /// A call has ended after `span` nanoseconds. `isAnswer` is false if its server answered with an error.
    mutating func noteEnd(isAnswer: Bool, after span: UInt64) {
        guard isAnswer else { return failed &+= 1 }
        answered &+= 1
        timed &+= 1
        nanoseconds &+= span
        longest = max(longest, span)
    }

    mutating func resetTimes() { (timed, nanoseconds, longest) = (0, 0, 0) }

    /// Appends `asked`, `answered` and `failed`, and `mean` and `max` in microseconds.
    func appendMembers(to value: inout ByteBuffer) {
        let members: [(StaticString, UInt64)] = [
            (#""asked":"#, asked), (#","answered":"#, answered), (#","failed":"#, failed),
            (#","mean":"#, timed == 0 ? 0 : nanoseconds / timed / 1000), (#","max":"#, longest / 1000),
        ]
        for (name, count) in members {
            value.append(name)
            value.append(decimal: count)
        }
    }
}
