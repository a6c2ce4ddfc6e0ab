// What became of calls, counted for `$broker.stats` as a whole, and for `$broker.services` for each service.
// What always holds: what was asked is answered, failed, or still waits.

import PlugboardMemory

/// Calls that were asked, and what became of them.
struct CallCounts: BitwiseCopyable {
    private(set) var asked: UInt64 = 0
    private(set) var answered: UInt64 = 0
    private(set) var failed: UInt64 = 0
    /// How long answers took, since `resetTimes`: how many, all together and the longest.
    private var timed: UInt64 = 0
    private var nanoseconds: UInt64 = 0
    private var longest: UInt64 = 0

    mutating func noteAsked() { asked &+= 1 }

    /// A call is over. `answered`: by its server, after so long; an error of the server is none.
    mutating func noteEnd(isAnswer: Bool, after span: UInt64) {
        guard isAnswer else { return failed &+= 1 }
        answered &+= 1
        timed &+= 1
        nanoseconds &+= span
        longest = max(longest, span)
    }

    mutating func resetTimes() { (timed, nanoseconds, longest) = (0, 0, 0) }

    /// Adds `asked`, `answered` and `failed`, and `mean` and `max` in microseconds.
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
