// Turns become smaller on a slow machine, and larger again.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

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
            pace.adapt()
        }
        return pace.shift
    }

    @Test("a turn may take as long as the limit, and after a longer one the next does half as much")
    func tooLong() {
        #expect(pace([TurnPace.nanosecondsMax]) == 0)
        #expect(pace([TurnPace.nanosecondsMax + 1]) == 1)
    }

    @Test("turns become no smaller than an eighth")
    func smallest() {
        let long = Array(repeating: TurnPace.nanosecondsMax + 1, count: TurnPace.shiftMax + 5)
        #expect(pace(Array(long.prefix(TurnPace.shiftMax))) == TurnPace.shiftMax)
        #expect(pace(long) == TurnPace.shiftMax)
    }

    @Test("after a short turn the next does twice as much, and after others as much as before")
    func shorter() {
        let long = TurnPace.nanosecondsMax + 1
        #expect(pace([long, long, TurnPace.nanosecondsMin]) == 2)
        #expect(pace([long, long, TurnPace.nanosecondsMin - 1]) == 1)
        #expect(pace([long, 0, 0, 0]) == 0)
    }

    @Test("a turn that follows a rest isn't timed")
    func rested() {
        #expect(pace([TurnPace.nanosecondsMax * 2], isFull: false) == 0)
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
