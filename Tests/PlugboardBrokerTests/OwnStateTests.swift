import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("what the broker tells of itself", .someAtATime)
struct OwnStateTests {
    private let test = BareHub()

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
        test.send("subscribe **", from: client)
        test.send("publish a 1", from: client)
        #expect(ownKeys() == [])
        let (isActive, next) = (test.hub.insight.isWatched, test.hub.deadlines.next)
        #expect(!isActive)
        #expect(next == nil)
    }

    @Test("what was only asked for is gone a second later, and nothing falls due any more")
    func asked() {
        let client = test.client()
        let reply = test.send("get $broker.stats", from: client).first ?? ""
        #expect(reply.hasPrefix(#"{"ok":"get","key":"$broker.stats","revision":1,"value":{"uptime":0,"#))
        #expect(ownKeys() == ["$broker.stats"])
        test.passTime()
        #expect(ownKeys() == [])
        let (isActive, next, count) = (
            test.hub.insight.isWatched, test.hub.deadlines.next, test.hub.keyspace.observableCount
        )
        #expect(!isActive)
        #expect(next == nil)
        #expect(count == 0)
    }

    @Test("a warning is told at once, and makes no more rounds than there were")
    func warning() {
        let client = test.client()
        test.send("subscribe $broker.warnings", from: client)
        test.endTurn()
        for number in 1...3 {
            test.hub.warn(.storage, "trouble \(number)")
            #expect(test.lines(of: client).last?.contains("trouble \(number)") == true)
            test.endTurn()
        }
        let count = test.hub.deadlines.count
        #expect(count == 1)
    }

    @Test("what is observed is written once a second where it changed, the rest is left alone")
    func observed() {
        let (client, other) = (test.client(), test.client())
        let first = test.send("subscribe $broker.clients.*", from: client)
        #expect(first.count == 4)
        #expect(ownKeys() == ["$broker.clients.1", "$broker.clients.2"])
        test.endTurn()
        test.send("publish a 1", from: other)
        let revision = test.hub.revision
        test.passTime()
        let told = test.lines(of: client)
        // Only these two have changed: one has subscribed, and the other has written.
        #expect(told.count == 2)
        #expect(told.allSatisfy { $0.contains(#""by":"$broker"}"#) })
        #expect(test.hub.revision == revision + 1)
        test.endTurn()
        test.passTime()
        #expect(test.lines(of: client).count <= 1)
        test.send("unsubscribe 1", from: client)
        test.passTime()
        #expect(ownKeys() == [])
        #expect(test.hub.deadlines.next == nil)
    }

    @Test("own writes are not remembered, and don't stand in the way of causes")
    func history() {
        let client = test.client()
        test.send("subscribe $broker.**", from: client)
        test.send("publish root 1", from: client)
        let cause = test.hub.revision
        for _ in 0..<5 { test.passTime() }
        test.send(#"{"op":"publish","key":"effect","value":1,"cause":\#(cause)}"#, from: client)
        let reply = test.send("why effect", from: client).first { $0.contains("chain") } ?? ""
        #expect(reply.contains(#"{"key":"root","revision":\#(cause),"#))
        #expect(test.hub.keyspace.history.count == 2)
        let own = test.send("why $broker.stats", from: client).first { $0.contains("chain") } ?? ""
        #expect(own.contains(#""chain":[{"key":"$broker.stats","revision":"#))
        #expect(own.hasSuffix(#","by":"$broker"}]}"#))
    }

    @Test("a feedback loop between two clients is told to whoever observes the warnings")
    func warnings() {
        let (watcher, left, right) = (test.client(), test.client(), test.client())
        test.send("hello left", from: left)
        test.send("hello right", from: right)
        test.send("subscribe $broker.warnings", from: watcher)
        for _ in 0..<20 {
            test.send(#"{"op":"publish","key":"a","value":1,"cause":\#(test.hub.revision)}"#, from: left)
            test.send(#"{"op":"publish","key":"b","value":1,"cause":\#(test.hub.revision)}"#, from: right)
        }
        test.passTime()
        let told = test.lines(of: watcher).last ?? ""
        let loop = #""loop":[{"key":"b","by":"right"},{"key":"a","by":"left"}]}]"#
        let other = #""loop":[{"key":"a","by":"left"},{"key":"b","by":"right"}]}]"#
        #expect(told.contains(#""value":[{"warning":1,"kind":"loop","times":"#))
        #expect(told.contains(loop) || told.contains(other))
    }

    @Test("counts are of what happened, rates of what happened since")
    func counts() {
        let (client, observer) = (test.client(), test.client())
        test.send("subscribe k", from: observer)
        for _ in 0..<10 { test.send("publish k 1", from: client) }
        test.send("publish other 1", from: client)
        test.send("delete other", from: client)
        let stats = test.send("get $broker.stats", from: client).first ?? ""
        #expect(stats.contains(#""keys":1,"clients":2,"subscriptions":1,"slow":0,"#))
        #expect(stats.contains(#""totals":{"lines":14,"writes":12,"events":10,"#))
        test.passTime()
        test.forget(client)
        let after = test.send("get $broker.stats", from: observer).first ?? ""
        #expect(after.contains(#","writes":0,"events":0,"received":0,"sent":0},"totals":{"lines":15,"#))
    }

    @Test("stats that were asked for just now are not counted anew")
    func fresh() {
        let client = test.client()
        let first = test.send("get $broker.stats", from: client)
        test.send("publish a 1", from: client)
        #expect(test.send("get $broker.stats", from: client) == first)
    }

    @Test("very many clients are looked at in pieces")
    func pieces() {
        let client = test.client()
        for _ in 0..<Round.clientsPerTurn + 10 { _ = test.client() }
        test.send("subscribe $broker.clients.*", from: client)
        test.endTurn()
        let revision = test.hub.revision
        for session in test.hub.sessions.handles { test.hub.sessions[session].line += 1 }
        // Each piece is one revision.
        for piece in 1...2 {
            test.passTime()
            test.endTurn()
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
