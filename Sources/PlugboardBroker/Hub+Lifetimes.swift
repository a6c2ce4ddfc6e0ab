// What the hub does without being asked: things whose time has come.

import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Does what has fallen due by `now`, as much as fits one turn: with more, or once the
    /// turn's log has grown past `logBytesMax`, the rest is for the next turn.
    mutating func expire(now: UInt64, logBytesMax: Int) {
        lastMoment = max(lastMoment, now)
        var fired = 0
        while fired < Deadlines.firedPerTurnMax, log.count <= logBytesMax,
            let deadline = deadlines.popDue(at: now)
        {
            fired += 1
            fire(deadline)
        }
    }

    /// The time now, in monotonic nanoseconds; never before what fell due last.
    func clock() -> UInt64 {
        max(MonotonicClock.nanoseconds(), lastMoment)
    }

    private mutating func fire(_ deadline: Deadline) {
        switch deadline {
        case .window(let serial): endWindow(serial)
        case .gate(let serial): expireGate(serial)
        case .call(let number): timeOut(call: number)
        case .ownState: lookRound()
        // Nothing makes these yet.
        case .expiry: break
        }
    }
}
