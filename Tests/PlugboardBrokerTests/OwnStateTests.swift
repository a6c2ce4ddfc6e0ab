import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("what the broker tells of itself", .someAtATime)
struct OwnStateTests {
    private let test = TestHub(time: .system)

    private func ownKeys() -> [String] {
        var keys: [String] = []
        var next = test.hub.keyspace.first(from: Span())
        while let observable = next {
            let key = test.hub.keyspace.keyText(of: observable)
            if key.hasPrefix("$"), test.hub.keyspace[observable].hasValue { keys.append(key) }
            next = test.hub.keyspace.next(after: observable)
        }
        return keys
    }

    @Test("nothing is kept and nothing falls due while nobody asks")
    func free() {
        let client = test.client()
        test.tell("subscribe **", from: client)
        test.tell("publish a 1", from: client)
        #expect(ownKeys() == [])
        let (isActive, next) = (test.hub.insight.isWatched, test.hub.deadlines.next)
        #expect(!isActive)
        #expect(next == nil)
    }

    @Test(
        "what was only asked for, or is observed no more, is gone a second later, and nothing falls due any more",
        arguments: [["get $broker.stats"], ["subscribe $broker.stats", "unsubscribe 1"]]
    )
    func asked(lines: [String]) {
        let client = test.client()
        let replies = lines.flatMap { test.tell($0, from: client) }
        #expect(replies.contains { $0.contains(#""value":{"uptime":0,"#) })
        #expect(ownKeys() == ["$broker.stats"])
        test.passTime()
        #expect(ownKeys() == [])
        let (isActive, next, count) = (
            test.hub.insight.isWatched, test.hub.deadlines.next, test.hub.keyspace.observableCount
        )
        #expect(!isActive && next == nil && count == 0)
    }

    @Test("a warning is told at once, and makes no more rounds than there were")
    func warning() {
        let client = test.client()
        test.tell("subscribe $broker.warnings", from: client)
        test.dropTurn()
        for number in 1...3 {
            test.hub.warn(.storage, "trouble \(number)")
            #expect(test.lines(of: client).last?.contains("trouble \(number)") == true)
            test.dropTurn()
        }
        let count = test.hub.deadlines.count
        #expect(count == 1)
    }

    @Test("the longest loop that is looked for has 32 steps, one of 33 is not found", arguments: [32, 33])
    func longestLoop(length: Int) {
        let client = test.client()
        for step in 0..<length * 18 {
            let cause = test.hub.revision
            let line = #"{"op":"publish","key":"k\#(step % length)","value":1,"cause":\#(cause)}"#
            test.tell(line, from: client)
            test.dropTurn()
        }
        #expect(test.hub.insight.warnings.latest.count == (length == 32 ? 1 : 0))
    }

    @Test("very many clients are looked at in pieces")
    func pieces() {
        let client = test.client()
        for _ in 0..<Round.clientsPerTurn + 10 { _ = test.client() }
        test.tell("subscribe $broker.clients.*", from: client)
        test.dropTurn()
        let revision = test.hub.revision
        for session in test.hub.sessions.handles { test.hub.sessions[session].line += 1 }
        // Each piece is one revision.
        for piece in 1...2 {
            test.passTime()
            test.dropTurn()
            #expect(test.hub.revision == revision + UInt64(piece))
        }
    }

    @Test("a running broker tells its memory and how long its turns take")
    func running() throws {
        let broker = try TestBroker()
        let (observer, writer) = (try broker.client(), try broker.client())
        _ = try observer.ask("subscribe $broker.stats")
        let first = try observer.line()
        #expect((number("memory", in: first) ?? 0) > 1_000_000)
        _ = try observer.line()
        for _ in 0..<100 { _ = try writer.ask("publish k 1") }
        var turns = 0
        while turns < 100 { turns += number("turns", in: try observer.line()) ?? 0 }
        #expect(turns >= 100)
    }
}

@Suite("what the broker warns of", .computing)
struct WarningsTests {
    private func text(_ warnings: borrowing Warnings) -> String {
        var text = ByteBuffer()
        warnings.append(to: &text)
        return String(text.bytes)
    }

    @Test("a problem of the journal that goes on is one warning, and only the latest are kept")
    func kept() {
        var warnings = Warnings()
        func warning(_ message: String) -> Warnings.Warning {
            Warnings.Warning(kind: .storage, message: message, milliseconds: 1, revision: 1)
        }
        for _ in 1...2 { warnings.raise(warning("full")) }
        let first = (text(warnings).contains(#""times":2"#), warnings.latest.count)
        #expect(first == (true, 1))
        for number in 1..<Warnings.keptMax { warnings.raise(warning("\(number)")) }
        let most = (text(warnings).contains("full"), warnings.latest.count)
        #expect(most == (true, Warnings.keptMax))
        warnings.raise(warning("one more"))
        let later = (text(warnings).contains("full"), warnings.latest.count)
        #expect(later == (false, Warnings.keptMax))
    }

    @Test("that clients wait for a descriptor is news once, and again after a minute without that")
    func news() {
        let time = SimulatedTime()
        var listener = Listener(raw: 0)
        var news = [listener.rest(TimeSource(time))]
        for pause in [Listener.newsNanoseconds - 1, Listener.newsNanoseconds - 1, Listener.newsNanoseconds] {
            time.advance(nanoseconds: pause)
            news.append(listener.rest(TimeSource(time)))
        }
        #expect(news == [true, false, false, true])
    }
}
