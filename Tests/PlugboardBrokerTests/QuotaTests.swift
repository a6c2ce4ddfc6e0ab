// Quotas: how much one user takes up, and that other users don't suffer from it.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("quotas of a user", .someAtATime)
struct QuotaTests {
    private let hub = TestHub()
    private let owner: Int
    private let guest: Int

    private static func policy(_ quota: String) -> String {
        #"""
        {"rules":[{"allow":{"everything":["**"]}},{"user":"*","allow":{"everything":["**"]}}],
         "quotas":[{"user":7,\#(quota)}]}
        """#
    }

    init() throws {
        try hub.follow(Self.policy(#""subscriptions":3,"keys":2,"kept":100"#))
        owner = hub.client()
        guest = hub.client(user: 7)
    }

    /// A value of `bytes` bytes.
    private func value(_ bytes: Int) -> String {
        "\"" + String(repeating: "x", count: bytes - 2) + "\""
    }

    @Test("keys: the last that it may have is taken, one more is limit, and what goes makes room")
    func keys() {
        #expect(hub.code("publish a 1", from: guest) == "ok")
        #expect(hub.code("publish b 1", from: guest) == "ok")
        let refusal = hub.ask("publish c 1", from: guest)
        #expect(refusal.contains(#""error":"limit""#) && refusal.contains("has at most 2 keys"))
        #expect(hub.code("get c", from: guest) == "not_found")
        #expect(hub.code("publish a 2", from: guest) == "ok")
        #expect(hub.code("emit c 1", from: guest) == "ok")
        #expect(hub.code("patch c {}", from: guest) == "limit")
        #expect(hub.code("delete a", from: guest) == "ok")
        #expect(hub.code("publish c 1", from: guest) == "ok")
        #expect(hub.code("publish d 1", from: owner) == "ok")
    }

    @Test("bytes kept: up to the last one, keys included; smaller ones always fit")
    func kept() throws {
        #expect(hub.code("publish a \(value(99))", from: guest) == "ok")
        #expect(hub.code("publish a \(value(100))", from: guest) == "limit")
        #expect(hub.code("publish b 1", from: guest) == "limit")
        #expect(
            hub.code(#"patch a {"much":"\#(String(repeating: "y", count: 90))"}"#, from: guest) == "limit")
        try hub.follow(Self.policy(#""kept":50"#))
        #expect(hub.code("publish a \(value(99))", from: guest) == "ok")
        #expect(hub.code("publish a \(value(49))", from: guest) == "ok")
        #expect(hub.code("publish a \(value(50))", from: guest) == "limit")
        #expect(hub.code("publish a \(value(1_000))", from: owner) == "ok")
    }

    @Test("an origin is kept as well, with its member's name")
    func origins() throws {
        try hub.follow(Self.policy(#""kept":50"#))
        func write(_ count: Int) -> String {
            let origin = String(repeating: "o", count: count)
            return #"{"op":"publish","id":1,"key":"a","value":1,"origin":"\#(origin)"}"#
        }
        // The key, the value, and `,"origin":""` around it.
        #expect(hub.code(write(50 - 2 - 12), from: guest) == "ok")
        #expect(hub.code(write(50 - 2 - 11), from: guest) == "limit")
        #expect(hub.code("patch a {}", from: guest) == "ok")
        #expect(hub.code("publish a \(value(49))", from: guest) == "ok")
        #expect(hub.code(#"{"op":"add","id":1,"key":"b","value":1,"origin":"x"}"#, from: guest) == "limit")
        #expect(hub.code("delete a", from: guest) == "ok")
        #expect(hub.code(write(50 - 2 - 12), from: guest) == "ok")
    }

    @Test("a value is its last writer's: it is the first one's no more, and nobody's when its time is over")
    func transfers() {
        #expect(hub.code(#"{"op":"publish","id":1,"key":"a","value":1,"ttl":1000}"#, from: guest) == "ok")
        #expect(hub.code("publish b 1", from: guest) == "ok")
        #expect(hub.code("publish b 2", from: owner) == "ok")
        #expect(hub.code("publish c 1", from: guest) == "ok")
        // It would be this user's third key.
        #expect(hub.code("publish b 3", from: guest) == "limit")
        hub.expireAll(after: 2_000)
        #expect(hub.code("publish b 3", from: guest) == "ok")
        #expect(hub.code("delete b", from: owner) == "ok")
        #expect(hub.code("publish d 1", from: guest) == "ok")
        #expect(hub.code("publish e 1", from: guest) == "limit")
        hub.leave(guest)
        // What it wrote is there, and counts for this user.
        #expect(hub.code("publish e 1", from: hub.client(user: 7)) == "limit")
    }

    @Test("a batch counts as a whole: all of it fits, or nothing is written")
    func batches() {
        func batch(_ keys: String...) -> String {
            let writes = keys.map { #"{"op":"publish","key":"\#($0)","value":1}"# }
            return #"{"op":"batch","id":1,"writes":[\#(writes.joined(separator: ","))]}"#
        }
        #expect(hub.code(batch("a", "b", "c"), from: guest) == "limit")
        #expect(hub.code("get a", from: guest) == "not_found")
        #expect(hub.code(batch("a", "b"), from: guest) == "ok")
        #expect(hub.code(batch("a", "b"), from: guest) == "ok")
        #expect(hub.code(batch("a", "c"), from: guest) == "limit")
    }

    @Test("a will that would be too much is not made")
    func wills() {
        #expect(hub.code("will publish c 1", from: guest) == "ok")
        #expect(hub.code("publish a 1", from: guest) == "ok")
        #expect(hub.code("publish b 1", from: guest) == "ok")
        hub.leave(guest)
        #expect(hub.code("get c", from: owner) == "not_found")
    }

    @Test("subscriptions of all its clients: as many as it may have, one more is limit")
    func subscriptions() {
        let second = hub.client(user: 7)
        for (line, client) in [("subscribe a", guest), ("subscribe b", second), ("trace c", second)] {
            #expect(hub.code(line, from: client) == "ok")
        }
        #expect(hub.code("subscribe d", from: guest) == "limit")
        #expect(hub.code("trace d", from: guest) == "limit")
        #expect(hub.code("subscribe d", from: owner) == "ok")
        #expect(hub.code("unsubscribe 1", from: guest) == "ok")
        #expect(hub.code("subscribe d", from: guest) == "ok")
        hub.leave(second)
        #expect(hub.code("subscribe e", from: guest) == "ok")
    }

    @Test("each pattern of a subscription counts as one, and so does each that is served")
    func patterns() {
        func asking(_ operation: String, _ keys: String...) -> String {
            let keys = keys.map { "\"\($0)\"" }.joined(separator: ",")
            return hub.code(#"{"op":"\#(operation)","id":1,"keys":[\#(keys)]}"#, from: guest)
        }
        #expect(asking("subscribe", "a", "b.*", "c", "d") == "limit")
        #expect(asking("subscribe", "a", "b.*") == "ok")
        #expect(asking("trace", "a", "b") == "limit")
        #expect(hub.code("serve s", from: guest) == "ok")
        #expect(hub.code("serve t", from: guest) == "limit")
        #expect(asking("subscribe", "c") == "limit")
        #expect(hub.code("unserve s", from: guest) == "ok")
        #expect(asking("trace", "c") == "ok")
        #expect(asking("subscribe", "c") == "limit")
        #expect(hub.code("unsubscribe 1", from: guest) == "ok")
        #expect(asking("trace", "a", "b") == "ok")
        #expect(hub.code("serve t", from: guest) == "limit")
        hub.leave(guest)
        let next = hub.client(user: 7)
        for key in ["a", "b", "c"] { #expect(hub.code("serve \(key)", from: next) == "ok") }
        #expect(hub.code("serve d", from: next) == "limit")
    }

    @Test("wills, and what is asked for with where and fields, are kept as well")
    func besides() {
        func filtered(_ bytes: Int) -> String {
            #"{"op":"subscribe","id":1,"key":"a","where":{"":{"==":\#(value(bytes))}}}"#
        }
        #expect(hub.code("will publish a \(value(100))", from: guest) == "limit")
        #expect(hub.code("will publish a \(value(99))", from: guest) == "ok")
        #expect(hub.code("publish b 1", from: guest) == "limit")
        #expect(hub.code(filtered(10), from: guest) == "limit")
        #expect(hub.code("will publish a \(value(97))", from: guest) == "ok")
        #expect(hub.code("publish b 1", from: guest) == "ok")
        #expect(hub.code("delete b\nwill", from: guest) == "ok")
        #expect(hub.code(filtered(200), from: guest) == "limit")
        #expect(hub.code(filtered(80), from: guest) == "ok")
        #expect(hub.code("publish b \(value(50))", from: guest) == "limit")
        #expect(hub.code("unsubscribe 1", from: guest) == "ok")
        #expect(hub.code("will publish a \(value(99))", from: guest) == "ok")
        hub.leave(guest)
        // Only the value that the will wrote counts now.
        let next = hub.client(user: 7)
        #expect(hub.code("publish b 1", from: next) == "limit")
        #expect(hub.code("publish a \(value(98))", from: next) == "ok")
        #expect(hub.code("publish b 1", from: next) == "limit")
        #expect(hub.code("delete a", from: next) == "ok")
        #expect(hub.code("will publish a \(value(99))\ngoodbye", from: next) == "ok")
        #expect(hub.code("publish a \(value(99))", from: hub.client(user: 7)) == "ok")
    }

    @Test("others have a quota in any case, this user and root only by name")
    func defaults() throws {
        let policy = try Policy.read(Self.policy(#""keys":2"#))
        #expect(policy.quota(of: 8, owner: 1_000) == .others)
        #expect(policy.quota(of: 1_000, owner: 1_000) == .unlimited)
        #expect(policy.quota(of: 0, owner: 1_000) == .unlimited)
        #expect(policy.quota(of: 7, owner: 1_000).keys == 2)
        #expect(policy.quota(of: 7, owner: 7).keys == 2)
        #expect(policy.quota(of: 7, owner: 1_000).kept == Quota.others.kept)
    }

    @Test(
        "a quota that is wrong is told, with its place",
        arguments: [
            (#"7"#, "\"quotas\" is an array"), (#"[{}]"#, "a quota names its \"user\""),
            (#"[{"user":7,"keys":-1}]"#, "\"keys\" is a whole number"),
            (#"[{"user":7,"keys":1.5}]"#, "\"keys\" is a whole number"),
            (#"[{"user":7,"kyes":1}]"#, "did you mean \"keys\"?"),
            (#"[{"user":7},{"user":[8,7]}]"#, "there are two quotas for user 7"),
            (#"[{"user":"*"},{"user":"*"}]"#, "there are two quotas for \"*\""),
            (
                "[" + [String](repeating: #"{"user":7}"#, count: 1_025).joined(separator: ",") + "]",
                "at most 1024"
            ),
        ]
    )
    func faults(quotas: String, message: String) {
        do throws(PolicyFault) {
            _ = try Policy.read(#"{"rules":[],"quotas":\#(quotas)}"#)
            Issue.record("accepted: \(quotas)")
        } catch {
            #expect(error.message.contains(message), "\(error.message)")
        }
    }
}

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
                #expect(try client.untimed("get a").contains(##""value":1,"by":"#1","live":false}"##))
                #expect(try code("publish a 1", client) == ok)
                #expect(try code("publish d 1", client) == ok)
                #expect(try code("publish e 1", client) == limit)
                _ = try client.ask("delete d")
                #expect(try code("publish e 1", client) == ok)
                _ = try client.ask("delete e")
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
