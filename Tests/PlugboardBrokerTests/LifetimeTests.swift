import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Bonds", .computing)
struct LifetimeHubTests {
    private func publish(_ key: String, _ rest: String = "") -> String {
        #"{"op":"publish","key":"\#(key)","value":1\#(rest)}"#
    }

    private let connected = #","while":"connected""#

    @Test("the keys of connections beyond a turn's worth go in the turns after, in their order, once each")
    func turns() {
        let hub = TestHub()
        let observer = hub.client()
        hub.send("subscribe **", from: observer)
        let (writers, some) = ((0..<3).map { _ in hub.client() }, Deadlines.firedPerTurnMax)
        for (number, writer) in writers.enumerated() {
            for index in 0..<some + 9 { hub.send(publish("k\(number).\(index)", connected), from: writer) }
        }
        _ = hub.read(observer)
        // The last one leaves while it is the turn of the second one's keys.
        for writer in writers { hub.leave(writer) }
        #expect(hub.keyCount == 27)
        hub.send(publish("k2.\(some + 8)"), from: observer)
        hub.expireAll(after: 0)
        #expect(hub.keyCount == 1 && hub.hub.deadlines.count == 0)
        let told = hub.read(observer).filter { $0.contains(#""reason":"disconnected""#) }
        let keys = told.compactMap { $0.firstMatch(of: #/"key":"(k\d\.\d+)"/#).map { String($0.output.1) } }
        let all = (0..<3).flatMap { number in (0..<some + 9).map { "k\(number).\($0)" } }
        #expect(keys == all.dropLast())
    }

    @Test("who waited for a client's acknowledgement is told together of the write and of what ends with it")
    func endsBeforeGatesOpen() {
        let hub = TestHub()
        let (indicator, watcher, writer) = (hub.client(), hub.client(), hub.client())
        hub.send("subscribe one\nsubscribe two", from: indicator)
        hub.send(#"{"op":"subscribe","key":"cart","phase":1,"ack":true}"#, from: indicator)
        hub.send(publish("summary", connected), from: indicator)
        hub.send(#"{"op":"subscribe","keys":["cart","summary"],"delivery":"all"}"#, from: watcher)
        _ = hub.read(watcher)
        hub.send(publish("cart"), from: writer)
        #expect(hub.read(watcher).isEmpty)
        // Its subscriptions end one a turn, the one that acknowledges first.
        var turns: [[String]] = []
        while !hub.leaveInPart(indicator) { turns.append(hub.read(watcher)) }
        turns.append(hub.read(watcher))
        #expect(turns.count >= 3)
        let told = turns.filter { !$0.isEmpty }
        #expect(told.count == 1)
        #expect(told.first?.first?.contains(#""key":"cart""#) == true)
        #expect(told.first?.last?.contains(#""event":"delete""#) == true)
    }
}

@Suite("Graces", .computing)
struct GraceTests {
    private let hub = TestHub()
    private let observer: SessionHandle

    init() {
        observer = hub.client()
        hub.send(#"{"op":"subscribe","key":"**","initial":false}"#, from: observer)
        _ = hub.read(observer)
    }

    /// A client with a name and a grace.
    private func program(_ name: String, _ grace: Int = 1_000, user: UInt32 = TestHub.owner) -> SessionHandle
    {
        let client = hub.client(user: user)
        hub.send(#"{"op":"hello","name":"\#(name)","grace":\#(grace)}"#, from: client)
        return client
    }

    private func bind(_ key: String, to client: SessionHandle) {
        hub.send(#"{"op":"publish","key":"\#(key)","value":1,"while":"connected"}"#, from: client)
        _ = hub.read(observer)
    }

    private func isResumed(_ client: SessionHandle) -> Bool {
        hub.read(client).last?.contains(#""resumed":true"#) == true
    }

    /// What the observer was told, in few words.
    private var news: [String] {
        hub.read(observer).map { line in
            let words = line.split(separator: #"""#)
            return "\(words[3]) \(words.dropFirst(9).first ?? "")"
        }
    }

    @Test("a program that comes back again and again leaves only what is still bound")
    func restless() {
        let first = program("restless")
        bind("first", to: first)
        for _ in 0..<100 {
            let client = program("restless")
            bind("a", to: client)
            hub.leave(client)
        }
        #expect(hub.hub.keyspace.lifetimes.leases.count == 1)
        hub.expireAll(after: 10_000)
        #expect(news == [])
        hub.leave(first)
        hub.expireAll(after: 20_000)
        #expect(Set(news) == ["delete first", "delete a"])
    }

    @Test("however often a program has come back and left something bound, it is no more work than at first")
    func often() throws {
        var (newest, costs) = (program("restless"), [UInt64]())
        for number in 0..<3_000 {
            let next = program("restless")
            bind("k.\(number)", to: next)
            let start = try ProcessUsage.threadNanoseconds()
            hub.leave(newest)
            costs.append(try ProcessUsage.threadNanoseconds() - start)
            newest = next
        }
        // The least of many, since others use the machine. The very first one has left nothing.
        let (first, last) = (costs[1..<200].min() ?? 0, costs.suffix(200).min() ?? 0)
        #expect(last < 4 * first, "\(first) ns at first, \(last) ns at last")
        #expect(hub.hub.keyspace.lifetimes.count == 3_000)
        hub.leave(newest)
        for millisecond in 0..<100 { hub.expireAll(after: 1_000 + UInt64(millisecond)) }
        #expect(hub.hub.keyspace.lifetimes.count == 0 && hub.hub.keyspace.lifetimes.leases.count == 0)
    }

    @Test(
        "what two clients of a name have bound is one's when the other is gone, however much either has",
        arguments: [(3, 200), (200, 3), (200, 200)]
    )
    func both(earlier: Int, later: Int) throws {
        let (first, second) = (program("twice"), program("twice"))
        for number in 0..<max(earlier, later) {
            if number < earlier { bind("first.\(number)", to: first) }
            if number < later { bind("second.\(number)", to: second) }
        }
        hub.leave(first)
        try hub.hub.checkInvariants()
        #expect(news == [])
        hub.leave(second)
        try hub.hub.checkInvariants()
        for millisecond in 0..<10 { hub.expireAll(after: 1_000 + UInt64(millisecond)) }
        let all = (0..<earlier).map { "first.\($0)" } + (0..<later).map { "second.\($0)" }
        #expect(news == all.map { "delete \($0)" })
    }

    @Test("for so many programs is waited and for no more, and then one that comes back makes room")
    func limit() {
        for number in 0..<Limits.absencesMax {
            let client = program("p\(number)")
            bind("k.\(number)", to: client)
            hub.leave(client)
        }
        let late = program("late")
        bind("late", to: late)
        hub.leave(late)
        #expect(news == ["delete late"])
        // A name that is waited for already takes no more room.
        let again = program("p7")
        #expect(isResumed(again))
        hub.leave(again)
        let next = program("next")
        bind("next", to: next)
        hub.leave(next)
        #expect(news == ["delete next"])
        hub.expireAll(after: 1_001)
        #expect(hub.read(observer).count == Limits.absencesMax)
    }
}

@Suite("What ends by itself", .someAtATime, .serialized)
struct LifetimeTests {
    /// An observer of everything that has got its snapshot.
    private func observer(_ broker: TestBroker) throws -> TestClient {
        let client = try broker.client()
        try client.send(#"{"op":"subscribe","key":"**","old":true}"#)
        for _ in 0..<2 { _ = try client.line() }
        return client
    }

    private func publish(_ key: String, _ rest: String) -> String {
        #"{"op":"publish","id":1,"key":"\#(key)","value":1,\#(rest)}"#
    }

    @Test("a key never expires before its time, and soon after", arguments: PollerKind.allCases)
    func punctual(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let reader = try observer(broker)
        for milliseconds: UInt64 in [1, 7, 30] {
            let sent = MonotonicClock.nanoseconds()
            try reader.send(publish("k", #""ttl":\#(milliseconds)"#))
            for _ in 0..<2 { _ = try reader.line() }
            #expect(try reader.line().contains(#""event":"delete""#))
            let passed = MonotonicClock.nanoseconds() - sent
            #expect(passed >= milliseconds * 1_000_000)
            #expect(passed < milliseconds * 1_000_000 + 2_000_000_000)
        }
    }

    @Test(
        "a broker that stops says so to all clients, and makes no last writes for them",
        arguments: PollerKind.allCases)
    func stopping(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        // The first that is sent away is the writer, so the reader is still there.
        let writer = try broker.client()
        let reader = try observer(broker)
        _ = try writer.ask(publish("on", #""while":"connected""#))
        _ = try reader.line()
        _ = try writer.ask("will emit alarm 1")
        broker.stop()
        #expect(try writer.line().hasPrefix(#"{"event":"bye","reason":"stopping""#))
        #expect(try reader.line().hasPrefix(#"{"event":"bye","reason":"stopping""#))
        #expect(try reader.lineOrEnd() == nil)
    }
}
