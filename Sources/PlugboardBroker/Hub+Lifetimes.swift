// What the hub does without being asked: things whose time has come.

import PlugboardWire

extension Hub {
    /// Does what has fallen due by `now`, as much as fits one turn: with more, or once the
    /// turn's log has grown past `logBytesMax`, the rest is for the next turn.
    mutating func expire(now: UInt64, logBytesMax: Int) {
        var fired = 0
        while fired < Deadlines.firedPerTurnMax, log.count <= logBytesMax,
            let deadline = deadlines.popDue(at: now)
        {
            fired += 1
            fire(deadline)
        }
    }

    private mutating func fire(_ deadline: Deadline) {
        switch deadline {
        // Nothing makes these yet.
        case .expiry, .call, .window: break
        }
    }
}
