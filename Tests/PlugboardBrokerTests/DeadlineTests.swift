import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Deadlines", .someAtATime)
struct DeadlineTests {
    /// Removes everything that is due. Returns it as the numbers of calls.
    private func due(_ deadlines: inout Deadlines, at now: UInt64) -> [UInt64] {
        var numbers: [UInt64] = []
        while let deadline = deadlines.popDue(at: now) {
            if case .call(let number) = deadline { numbers.append(number) }
        }
        return numbers
    }

    @Test("many come and go as in a sorted list, cancelled ones never")
    func many() {
        var deadlines = Deadlines()
        var model: [(time: UInt64, number: UInt64, ticket: DeadlineTicket)] = []
        var now: UInt64 = 0
        for number in 0..<20_000 as Range<UInt64> {
            let time = now + UInt64.random(in: 0..<5_000)
            model.append((time, number, deadlines.add(at: time, .call(number))))
            if number % 3 == 0 {
                let gone = model.remove(at: Int.random(in: 0..<model.count))
                deadlines.cancel(gone.ticket)
                deadlines.cancel(gone.ticket)
            }
            if number % 100 == 0 {
                now += 200
                let expected = model.filter { $0.time <= now }.sorted {
                    ($0.time, $0.number) < ($1.time, $1.number)
                }
                #expect(due(&deadlines, at: now) == expected.map(\.number))
                // What has fallen due can't be cancelled, nor anything that came after it.
                for old in expected { deadlines.cancel(old.ticket) }
                model.removeAll { $0.time <= now }
            }
        }
        let count = deadlines.count
        #expect(count == model.count)
        for left in model { deadlines.cancel(left.ticket) }
        let (none, next) = (deadlines.count, deadlines.next)
        #expect(none == 0)
        #expect(next == nil)
    }

    @Test("when others should have their turn, no more falls due in this one, but one in any case")
    func enough() throws {
        let hub = TestHub()
        let client = hub.client()
        for key in 1...3 {
            hub.send(#"{"op":"publish","key":"k\#(key)","value":1,"ttl":1000}"#, from: client)
        }
        let next = hub.hub.deadlines.next
        let due = try #require(next)
        hub.hub.insight.count(steps: 1)
        hub.hub.requests.beginPart(until: 0)
        for left in [2, 1, 0] {
            hub.hub.expire(now: due)
            let there = hub.hub.keyspace.keyCount
            #expect(there == left)
        }
    }

    @Test("what very many took up is given back in pieces, and those that are left are due as before")
    func shrinking() {
        var deadlines = Deadlines()
        let tickets = (0..<20_000 as Range<UInt64>).map { deadlines.add(at: 30_000 - $0, .call($0)) }
        for (number, ticket) in tickets.enumerated() where number % 2_000 != 7 { deadlines.cancel(ticket) }
        var pieces = 0
        while !deadlines.shrink(visits: 1_024) { pieces += 1 }
        #expect(pieces >= 10)
        for number in 0..<1_000 as Range<UInt64> { deadlines.add(at: 40_000 + number, .call(number)) }
        for (number, ticket) in tickets.enumerated() where number % 2_000 != 7 { deadlines.cancel(ticket) }
        #expect(due(&deadlines, at: 30_000) == (0..<10).reversed().map { $0 * 2_000 + 7 })
        #expect(due(&deadlines, at: .max) == Array(0..<1_000))
    }

    @Test("a wait is rounded up to whole milliseconds, and never too long to be said")
    func waits() {
        let millisecond: UInt64 = 1_000_000
        #expect(Deadlines.milliseconds(from: 5, until: 4) == 0)
        #expect(Deadlines.milliseconds(from: 5, until: 5) == 0)
        #expect(Deadlines.milliseconds(from: 5, until: 6) == 1)
        #expect(Deadlines.milliseconds(from: 5, until: 5 + millisecond) == 1)
        #expect(Deadlines.milliseconds(from: 5, until: 6 + millisecond) == 2)
        #expect(Deadlines.milliseconds(from: 0, until: .max) == .max)
    }

    @Test("what is too far off for nanoseconds is kept to the millisecond, and never falls due")
    func remote() {
        let time = TimeSource(SimulatedTime())
        let now = time.nanoseconds()
        var deadlines = Deadlines(clock: time)
        let last: UInt64 = (.max - now) / 1_000_000
        for wait in [3, last, last + 1, Limits.integerMax] {
            let ticket = deadlines.add(after: wait, .call(wait))
            let later = [(now, wait, wait), (now + 1, wait, wait - 1), (now + 2_000_000, wait - 2, wait - 2)]
            for (moment, up, down) in later {
                #expect(deadlines.millisecondsLeft(of: ticket, at: moment, roundedUp: true) == up)
                #expect(deadlines.millisecondsLeft(of: ticket, at: moment, roundedUp: false) == down)
            }
        }
        let near = due(&deadlines, at: .max - 1)
        #expect(near == [3, last])
        #expect(deadlines.count == 2)
        let cancelled = deadlines.add(after: Limits.integerMax, .call(1))
        deadlines.cancel(cancelled)
        #expect(deadlines.millisecondsLeft(of: cancelled, at: now, roundedUp: true) == nil)
        #expect(throws: Never.self) { try deadlines.checkInvariants() }
    }

    @Test(
        "a loop sleeps until a deadline, once; more than a turn's worth falls due over turns that don't wait",
        arguments: [(1, 39_000_001, [40, -1]), (Deadlines.firedPerTurnMax * 3 + 1, 0, [0, 0, 0, 0, -1])]
            as [(Int, UInt64, [Int32])]
    )
    func loopSleeps(count: Int, after: UInt64, waits: [Int32]) throws {
        #expect(try SiegeStage(hasSlices: true).waits(for: count, dueAfter: after) == waits)
    }
}
