// Quotas: how much one user takes up, and how much all clients without a quota do together, at the limit and one past
// it. What counts for a user is in `protocol/transcripts/quotas.txt`.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("quotas of a user, in a running broker", .someAtATime)
struct QuotaBrokerTests {
    /// Starts a broker with a quota for the user who runs the tests, by the user's number.
    private func broker(_ quota: String, state: String? = nil) throws -> TestBroker {
        let text = #"""
            {"rules":[{"allow":{"everything":["**"]}}],"quotas":[{"user":\#(getuid()),\#(quota)}]}
            """#
        return try TestBroker(state: state, policy: try Policy.read(text))
    }

    @Test("connections: one more than there may be is told why and closed; one that leaves makes room")
    func connections() throws {
        let broker = try broker(#""connections":2"#)
        var (first, second): (TestClient?, TestClient?) = (try broker.client(), try broker.client())
        let third = try broker.client(isGreeted: false)
        #expect(try third.line().hasPrefix(#"{"event":"bye","reason":"limit""#))
        #expect(try third.lineOrEnd() == nil)
        #expect(try second?.ask("sync").hasPrefix(#"{"ok":"sync""#) == true)
        second = nil
        _ = try first?.ask("sync")
        // When its place is free, the broker has noticed that it left.
        while true {
            let next = try broker.client(isGreeted: false)
            if try next.line().hasPrefix(#"{"event":"hello""#) { break }
        }
        first = nil
    }

    @Test("what a broker finds in its journal counts for the user who wrote it, whoever that was called")
    func restored() throws {
        let home = try TemporaryFolder(named: "pq")
        func withBroker(_ body: (TestClient) throws -> Void) throws {
            let broker = try broker(#""keys":3"#, state: home.path + "/state")
            try body(try broker.client())
            broker.stop()
        }
        func code(_ line: String, _ client: TestClient) throws -> String {
            String(try client.ask(line).dropFirst(2).prefix { $0 != "," })
        }
        let (ok, limit) = (#"ok":"publish""#, #"error":"limit""#)
        try withBroker { client in
            _ = try client.ask("publish a 1")
            _ = try client.ask(#"{"op":"batch","id":1,"writes":[{"op":"publish","key":"gone","value":1}]}"#)
            _ = try client.ask("hello till")
            _ = try client.ask(#"{"op":"batch","id":1,"writes":[{"op":"publish","key":"b","value":1}]}"#)
            #expect(try code("publish c 1", client) == limit)
            _ = try client.ask("delete gone")
            let bound = #"{"op":"publish","id":1,"key":"c","value":1,"while":"connected"}"#
            #expect(try code(bound, client) == ok)
        }
        for _ in 0..<3 {
            try withBroker { client in
                let value = try client.ask("get a")
                #expect(value.contains(##""value":1,"by":"#1","##) && value.hasSuffix(#""live":false}"#))
                #expect(try code("publish a 1", client) == ok)
                #expect(try code("publish d 1", client) == ok)
                #expect(try code("publish e 1", client) == limit)
                _ = try client.ask("delete d")
                #expect(try code("publish e 1", client) == ok)
                let writes = #"{"op":"publish","key":"f","value":1},{"op":"delete","key":"e"}"#
                #expect(try code(#"{"op":"batch","id":1,"writes":[\#(writes)]}"#, client) == #"ok":"batch""#)
                _ = try client.ask("delete f")
            }
        }
    }

    @Test("keys owed: past the quota it is told bye, also where nothing else waits to be read")
    func owedKeys() throws {
        let broker = try broker(#""owed":640"#)
        let (paused, writer) = (try broker.client(), try broker.client())
        _ = try paused.ask("subscribe k.*")
        _ = try paused.line()
        _ = try paused.ask("pause 1")
        for number in 0..<50 { _ = try writer.ask("publish k.\(number) 1") }
        try paused.send("sync")
        var last = ""
        while let line = try paused.lineOrEnd() { last = line }
        #expect(last.hasPrefix(#"{"event":"bye","reason":"limit""#), "\(last)")
        #expect(try writer.ask("sync").hasPrefix(#"{"ok":"sync""#))
    }

    @Test("answers owed: who waits for more of them than its user may is told bye, and the others are served")
    func owedAnswers() throws {
        let broker = try broker(#""owed":2000"#)
        let (server, caller, other) = (try broker.client(), try broker.client(), try broker.client())
        _ = try server.ask("serve s")
        for _ in 0..<3 { try caller.send("call s") }
        for _ in 0..<3 { #expect(try server.line().hasPrefix(#"{"event":"call""#)) }
        #expect(try caller.ask("sync").hasPrefix(#"{"ok":"sync""#))
        try caller.send("call s")
        var last = ""
        while let line = try caller.lineOrEnd() { last = line }
        #expect(last.hasPrefix(#"{"event":"bye","reason":"limit""#), "\(last)")
        try other.send("call s")
        #expect(try other.ask("sync").hasPrefix(#"{"ok":"sync""#))
    }
}

@Suite("what clients without a quota take up together")
struct CommonsTests {
    private let bare = TestHub()
    private let clients: [SessionHandle]

    init() { clients = [bare.client(), bare.client(), bare.client()] }

    /// Whether a client for which so many bytes wait is closed for that. It is open again afterwards.
    private func isPast(_ kind: WaitingBytes.Kind, _ bytes: Int, _ client: Int) -> Bool {
        bare.hub.recount(kind, bytes, of: clients[client])
        defer { bare.hub.sessions[clients[client]].closeReason = nil }
        return bare.hub.sessions[clients[client]].closeReason == .quota
    }

    @Test("bytes that are owed: as many as the limit, and one more")
    func owed() {
        let most = Limits.commonOwedBytesMax
        // Who reads is not the one who exceeds it.
        let past = [(0, most - 10), (1, 10), (2, 1), (1, 9), (2, 1)].map { isPast(.owed, $1, $0) }
        #expect(past == [false, false, true, false, false])
        bare.forget(clients[0])
        #expect(!isPast(.owed, most - 9, 2) && isPast(.owed, most - 8, 2))
    }

    @Test("who is closed makes room for those that are counted after it")
    func room() {
        let observers = (0..<5).map { _ in bare.client() }
        for observer in observers { bare.send("subscribe k.**\npause 1", from: observer) }
        func write(_ branch: String) {
            let writes = (0..<1_024).map { #"{"op":"publish","key":"k.\#(branch).\#($0)","value":1}"# }
            bare.send(#"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#, from: clients[0])
        }
        write("a")
        let share = 1_024 * OwedKey.countedBytes
        bare.hub.access.common.limits.owed = 5 * share + share * 3 / 2
        write("b")
        let areClosed = observers.map { bare.hub.sessions[$0].closeReason == .quota }
        #expect(areClosed == [false, true, false, true, false])
    }

    @Test("bytes of unfinished requests: as many as the limit, and one more")
    func partial() {
        let most = Limits.commonPartialBytesMax
        #expect(!isPast(.partial, most, 0) && !isPast(.partial, 0, 1))
        #expect(isPast(.partial, 1, 1) && !isPast(.owed, 1, 2))
        bare.forget(clients[0])
        #expect(!isPast(.partial, most - 1, 2))
    }

    @Test("what waits is counted for the user while it has a limit, and else for all together")
    func moves() throws {
        func follow(_ quotas: String) throws {
            let text = #"{"rules":[{"allow":{"everything":["**"]}}],"quotas":[\#(quotas)]}"#
            bare.hub.replacePolicy(try Policy.read(text))
        }
        let quota = #"{"user":1000,"owed":100,"partial":100}"#
        try follow(quota)
        let client = bare.client()
        bare.hub.recount(.owed, 20, of: client)
        bare.hub.recount(.partial, 3, of: client)
        for (quotas, waiting) in [(quota, [0, 0, 20, 3]), ("", [20, 3, 0, 0]), (quota, [0, 0, 20, 3])] {
            try follow(quotas)
            let (all, own) = (bare.hub.access.common.used, bare.hub.access.account(of: 1_000).used)
            #expect([all.owed, all.partial, own.owed, own.partial] == waiting)
        }
    }

    @Test("who sends a byte too much of a request is told why and closed, and the others go on")
    func unfinished() throws {
        let stage = try SiegeStage(hasSlices: true, .common(partial: 1_000))
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

    @Test(
        "who is owed too much is closed, the others go on, and who reads makes room",
        arguments: [(false, 1), (true, 0)])
    func unread(shares: Bool, dismissed: Int) throws {
        let value = 10_000
        // Without room for one that they share, each keeps a copy of its own.
        let stage = try SiegeStage(hasSlices: true, .common(owed: 3 * value), sharesCopies: shares)
        let observers = try (0..<3).map { _ in try stage.connect() }
        for observer in observers { try stage.ask("subscribe k", observer) }
        for observer in observers { observer.reads = false }
        let writer = try stage.connect()
        let write = "publish k \"" + String(repeating: "x", count: value) + "\"\n"
        _ = try stage.reply(to: write, from: writer)
        _ = try stage.news(of: writer)
        for observer in observers { observer.reads = true }
        let told = try observers.map { try stage.news(of: $0) }
        #expect(told.count { $0.contains(#""reason":"limit""#) } == dismissed)
        #expect(told.count { $0.contains(#""event":"update""#) } == 3 - dismissed)
        observers[0].reads = false
        _ = try stage.reply(to: write, from: writer)
        observers[0].reads = true
        #expect(try stage.news(of: observers[0]).contains(#""event":"update""#))
    }
}
