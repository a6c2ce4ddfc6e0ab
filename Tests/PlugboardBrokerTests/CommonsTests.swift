// What clients without a quota may take up together, at the limit and one past it: by themselves, and in a
// broker, where who exceeds it is closed and the others go on.

import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("what clients without a quota take up together")
struct CommonsTests {
    private let sessions: [SessionHandle]

    init() {
        var table = SessionTable()
        sessions = (0..<3).map { table.insert(Session(client: UInt64($0), slot: $0)) }
    }

    @Test("bytes that are owed: as many as the limit, and one more")
    func owed() {
        var commons = Commons()
        let most = Limits.commonOwedBytesMax
        let isPast = [
            commons.note(.owed, most - 10, of: sessions[0]),
            commons.note(.owed, 10, of: sessions[1]),
            commons.note(.owed, 1, of: sessions[2]),
            // Who reads is not the one who exceeds it.
            commons.note(.owed, 9, of: sessions[1]),
            commons.note(.owed, 1, of: sessions[2]),
        ]
        #expect(isPast == [false, false, true, false, false])
        commons.forget(sessions[0])
        let isPastThen = [
            commons.note(.owed, most - 9, of: sessions[2]), commons.note(.owed, most - 8, of: sessions[2]),
        ]
        #expect(isPastThen == [false, true])
    }

    @Test("bytes of unfinished requests: as many as the limit, and one more")
    func partial() {
        var commons = Commons()
        let most = Limits.commonPartialBytesMax
        let isPast = [
            commons.note(.partial, most, of: sessions[0]), commons.note(.partial, 0, of: sessions[1]),
            commons.note(.partial, 1, of: sessions[1]), commons.note(.owed, 1, of: sessions[2]),
        ]
        #expect(isPast == [false, false, true, false])
        commons.forget(sessions[0])
        let isPastThen = commons.note(.partial, most - 1, of: sessions[2])
        #expect(!isPastThen)
    }

    @Test("who sends a byte too much of a request is told why and closed, and the others go on")
    func unfinished() throws {
        let stage = try SiegeStage(hasSlices: true, Commons(partialMax: 1_000))
        let (first, second, third) = (try stage.connect(), try stage.connect(), try stage.connect())
        let half = String(repeating: "x", count: 500)
        for link in [first, second] { stage.send(half, link) }
        #expect(try stage.news(of: first) + stage.news(of: second) == "")
        stage.send("x", third)
        let bye = try stage.news(of: third)
        #expect(bye.hasPrefix(#"{"event":"bye","reason":"limit""#))
        #expect(bye.contains("of all clients without a quota together"))
        #expect(try stage.reply(to: "\n", from: first).contains("error"))
        // There is room again.
        let fourth = try stage.connect()
        stage.send(half, fourth)
        #expect(try stage.news(of: fourth) == "")
        #expect(try stage.reply(to: "\n", from: second).contains("error"))
    }

    @Test("who is owed too much is closed, the others go on, and who reads makes room")
    func unread() throws {
        let value = 10_000
        let stage = try SiegeStage(hasSlices: true, Commons(owedMax: 3 * value))
        let observers = try (0..<3).map { _ in try stage.connect() }
        for observer in observers { try stage.ask("subscribe k", observer) }
        for observer in observers { observer.reads = false }
        let writer = try stage.connect()
        let write = "publish k \"" + String(repeating: "x", count: value) + "\"\n"
        _ = try stage.reply(to: write, from: writer)
        _ = try stage.news(of: writer)
        for observer in observers { observer.reads = true }
        let told = try observers.map { try stage.news(of: $0) }
        #expect(told.count { $0.contains(#""reason":"limit""#) } == 1)
        #expect(told.count { $0.contains(#""event":"update""#) } == 2)
        observers[0].reads = false
        _ = try stage.reply(to: write, from: writer)
        observers[0].reads = true
        #expect(try stage.news(of: observers[0]).contains(#""event":"update""#))
    }
}
