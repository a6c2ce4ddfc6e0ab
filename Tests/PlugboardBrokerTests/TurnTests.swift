// A turn that has done enough: what clients still ask for waits for the next one, in its order, and filters
// are asked when there is time.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a turn that has done enough", .computing)
struct TurnEndTests {
    private let test = TestHub()
    private let (writer, observer): (SessionHandle, SessionHandle)

    init() {
        (writer, observer) = (test.client(), test.client())
    }

    /// Lets the turn do so much more before it has done enough.
    private func allow(_ effort: UInt64) {
        test.hub.requests.beginPart(until: test.hub.effort + effort)
    }

    private func takeLeftOver() -> LeftOver? { test.hub.requests.group.leftOver.take() }

    private func publish(_ value: Int) -> String { #"{"op":"publish","key":"k","value":\#(value)}"# }

    private func isBehind() -> Bool { test.hub.sessions[observer].isBehind }

    @Test("leaves publishes, and all that is behind them, for the next", arguments: [0, 1, 2, 3])
    func publishes(allowed: Int) {
        test.tell("subscribe k", from: observer)
        // Who observes the key is known from here on, so that finding them is no work.
        test.tell("publish k 0", from: observer)
        _ = test.lines(of: observer)
        let lines = [
            publish(1), publish(2), publish(3), #"{"op":"get","key":"k"}"#, publish(4), "\"nonsense",
        ]
        allow(UInt64(allowed))
        test.takeTogether(lines, from: writer)
        let done = allowed + 1
        let told = test.lines(of: observer).filter { $0.contains("update") }
        guard done < 3 else {
            // A request that isn't a publish is executed even then: the loop asks before each line.
            #expect(told.count == 4)
            #expect(takeLeftOver() == nil)
            return
        }
        #expect(told.count == done)
        let start = lines[..<done].map(\.utf8.count).reduce(0, +) + done
        #expect(takeLeftOver() == LeftOver(start: start, number: UInt64(done + 1)))
        #expect(!test.lines(of: writer).contains { $0.contains(#""ok":"get""#) || $0.contains("error") })
    }

    @Test("owes observers with a filter, and tells them the newest that they asked for")
    func filters() {
        test.tell(#"{"op":"subscribe","key":"k","where":{"":{">":2}}}"#, from: observer)
        test.tell(#"{"op":"subscribe","key":"k"}"#, from: observer)
        test.dropTurn()
        allow(0)
        for value in [1, 5, 3] { test.take("publish k \(value)", from: writer) }
        test.hub.settle(observer)
        let told = test.lines(of: observer)
        #expect(told.filter { $0.contains(#""sub":1"#) }.map { $0.contains(#""value":3"#) } == [true])
        #expect(told.contains { $0.contains(#""sub":2"#) && $0.contains(#""value":3"#) })
        test.dropTurn()
        let isBehind = isBehind()
        #expect(!isBehind)
        #expect(test.brokenInvariant() == nil)
    }

    @Test(
        "tells nothing of what was folded into a value that isn't asked for, and those at once who are told all or acknowledge",
        arguments: [("", 1, 0), (#","delivery":"all""#, 6, 2), (#","ack":true"#, 6, 2)]
    )
    func atOnce(option: String, last: Int, told: Int) {
        test.tell(#"{"op":"subscribe","key":"k","where":{"":{">":2}}\#(option)}"#, from: observer)
        test.dropTurn()
        allow(0)
        for value in [1, 5, last] { test.take("publish k \(value)", from: writer) }
        if told == 0 { test.hub.settle(observer) }
        #expect(test.lines(of: observer).count { $0.contains("update") } == told)
    }
}

@Suite("the pace of turns", .computing)
struct TurnPaceTests {
    private let time = SimulatedTime()

    /// The pace after turns that take so long each.
    private func pace(_ nanoseconds: [UInt64], isFull: Bool = true) -> Int {
        var pace = TurnPace()
        pace.countHeard(2)
        for taken in nanoseconds {
            pace.begin(isFull: isFull, TimeSource(time))
            time.advance(nanoseconds: taken)
            pace.end(TimeSource(time))
        }
        return pace.shift
    }

    @Test(
        "a turn that is longer than the limit halves the next, down to an eighth, and a short one doubles it")
    func adapts() {
        let (most, long) = (TurnPace.nanosecondsMax, TurnPace.nanosecondsMax + 1)
        #expect(pace([most]) == 0 && pace([long]) == 1)
        let many = Array(repeating: long, count: TurnPace.shiftMax)
        #expect(pace(many) == TurnPace.shiftMax && pace(many + [long, long]) == TurnPace.shiftMax)
        #expect(pace([long, long, TurnPace.nanosecondsMin]) == 2)
        #expect(pace([long, long, TurnPace.nanosecondsMin - 1]) == 1)
        #expect(pace([long, 0, 0, 0]) == 0)
        // One that follows a rest isn't timed.
        #expect(pace([long, long * 2], isFull: false) == 0)
    }

    @Test("turns of a crowded loop are timed, and those of one client alone aren't", arguments: [1, 2])
    func crowd(clients: Int) throws {
        let stage = try SiegeStage(hasSlices: true)
        let links = try (0..<clients).map { _ in try stage.connect() }
        let lines = String(repeating: "publish k 1\n", count: 4_000)
        for link in links { try stage.ask("subscribe k", link) }
        for _ in 0..<32 { try stage.turn() }
        for link in links { stage.send(lines, link) }
        stage.slowDown(nanoseconds: TurnPace.nanosecondsMax + 1)
        for _ in 0..<8 { try stage.turn() }
        #expect(stage.shift == (clients == 1 ? 0 : TurnPace.shiftMax))
    }

    @Test("a turn that is followed by a larger one leaves nobody unserved for whom it had room")
    func unserved() throws {
        let stage = try SiegeStage(hasSlices: true)
        let observers = try (0..<SiegeStage.served * 4).map { _ in try stage.connect() }
        for observer in observers {
            try stage.ask(#"{"op":"subscribe","key":"k","initial":false}"#, observer)
        }
        // One client alone isn't timed.
        let writers = [try stage.connect(), try stage.connect()]
        stage.slowDown(nanoseconds: TurnPace.nanosecondsMax + 1)
        for _ in 0..<4 {
            for writer in writers { stage.send("publish k 1\n", writer) }
            for _ in 0..<4 { try stage.turn() }
        }
        #expect(stage.shift > 0)
        stage.slowDown(nanoseconds: 0)
        var shifts: Set<Int> = []
        for _ in 0..<40 {
            for writer in writers { stage.send("publish k 1\n", writer) }
            try stage.turn()
            shifts.insert(stage.shift)
            try stage.checkInvariants()
        }
        #expect(shifts.count > 1, "a turn became larger")
    }
}
