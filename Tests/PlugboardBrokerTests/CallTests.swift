// Calls in a hub without sockets: what each side gets, and the limits.

import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Calls", .computing)
struct CallTests {
    private let hub = TestHub()
    private let server: Int
    private let caller: Int

    init() {
        server = hub.client()
        caller = hub.client()
    }

    private func ask(_ line: String, from client: Int) -> [String] {
        hub.send(line, from: client)
        return hub.read(client)
    }

    @Test("a client waits for so many answers and not for one more")
    func callsLimit() {
        #expect(ask("serve a", from: server).count == 1)
        for _ in 0..<Limits.callsMax { hub.send("call a", from: caller) }
        #expect(hub.read(caller).isEmpty)
        #expect(ask("call a", from: caller).first?.contains(#""error":"limit""#) == true)
        #expect(hub.read(server).count == Limits.callsMax)
        // Another client may still call, and one answer makes room for one call.
        let other = hub.client()
        #expect(ask("call a", from: other).isEmpty)
        hub.send("return 7 0", from: server)
        #expect(hub.read(caller) == [##"{"ok":"call","key":"a","value":0,"by":"#1"}"##])
        #expect(ask("call a", from: caller).isEmpty)
        #expect(ask("call a", from: caller).count == 1)
    }

    @Test("a call in the turn in which a server is closed goes to the next in line")
    func sparesAtOnce() {
        let bare = BareHub()
        let (first, spare, caller) = (bare.client(), bare.client(), bare.client())
        for server in [first, spare] {
            _ = bare.send(#"{"op":"serve","key":"a","spare":true}"#, from: server)
            _ = bare.send("serve b", from: server)
        }
        bare.hub.setAside(first, .slow)
        bare.take("call a", from: caller)
        let told = bare.lines(of: spare)
        #expect(told.count == 2 && told.first == #"{"event":"serving","key":"a"}"#, "\(told)")
        #expect(told.last?.hasPrefix(#"{"event":"call","call":"1","key":"a""#) == true)
        #expect(bare.send("call b", from: caller).first?.contains("no_provider") == true)
    }

    @Test("so many clients stand in line and not one more, and each takes over in its turn")
    func sparesLimit() {
        let serve = #"{"op":"serve","key":"a","spare":true}"#
        #expect(ask(serve, from: server) == [#"{"ok":"serve","key":"a"}"#])
        let spares = (0..<Limits.sparesMax).map { _ in hub.client() }
        let waits = #"{"ok":"serve","key":"a","spare":true}"#
        for spare in spares { #expect(ask(serve, from: spare) == [waits]) }
        let late = hub.client()
        #expect(ask(serve, from: late).first?.hasPrefix(#"{"error":"limit","#) == true)
        #expect(ask("serve a", from: late).first?.hasPrefix(#"{"error":"conflict","#) == true)
        // One leaves the middle of the line, one of its end goes. Nobody takes over, and there is room again.
        hub.send("unserve a", from: spares[1])
        hub.leave(spares[15])
        #expect(hub.read(spares[1]) == [#"{"ok":"unserve","key":"a"}"#])
        for spare in [spares[1], late] { #expect(ask(serve, from: spare).first?.contains("spare") == true) }
        hub.leave(server)
        for (place, spare) in ([spares[0]] + spares[2..<15] + [spares[1], late]).enumerated() {
            #expect(hub.read(spare) == [#"{"event":"serving","key":"a"}"#])
            hub.send("call a", from: caller)
            #expect(hub.read(spare).first?.hasPrefix(#"{"event":"call","call":"\#(place + 1)""#) == true)
            hub.leave(spare)
            #expect(hub.read(caller).first?.hasPrefix(#"{"error":"provider_gone""#) == true)
        }
        #expect(ask("call a", from: caller).first?.hasPrefix(#"{"error":"no_provider""#) == true)
    }

    @Test("a client in line counts as one that serves, for its limit and its user's list")
    func sparesCount() {
        for number in 0..<Limits.servicesMax {
            hub.send("serve k\(number)", from: server)
            hub.send(#"{"op":"serve","key":"k\#(number)","spare":true}"#, from: caller)
        }
        #expect(hub.read(caller).count == Limits.servicesMax)
        #expect(ask("serve other", from: server).last?.contains(#""error":"limit""#) == true)
        #expect(ask("serve other", from: caller).first?.contains(#""error":"limit""#) == true)
        #expect(ask("unserve k7", from: caller) == [#"{"ok":"unserve","key":"k7"}"#])
        #expect(ask("serve other", from: caller).first?.hasPrefix(#"{"ok":"serve","#) == true)
        // Each service is listed with its line; together they are at most 1,000.
        let listed = ask("get $broker.services", from: hub.client()).first ?? ""
        let spare = ##","spares":[{"client":2,"name":"#2"}]}"##
        #expect(listed.ranges(of: spare).count == Limits.listedServicesMax / 2)
        #expect(listed.contains(#"],"more":true}"#))
    }

    @Test("a server that doesn't read is sent so much and not a call more")
    func unreadCalls() {
        hub.send("serve a", from: server)
        _ = hub.read(server)
        let value = String(repeating: "v", count: 1_000_000)
        var sent = 0
        while sent < 64 {
            hub.send(#"call a "\#(value)""#, from: caller)
            let replies = hub.read(caller)
            guard replies.isEmpty else {
                #expect(replies.first?.contains(#""error":"limit""#) == true)
                break
            }
            sent += 1
        }
        #expect(sent == Limits.outboxBytesMax / (value.utf8.count + 64))
        #expect(hub.waitingBytes(server) <= Limits.outboxBytesMax)
        #expect(hub.read(server).count == sent)
        #expect(ask("call a 1", from: caller).isEmpty)
    }

    @Test("a caller that doesn't read is told that its answers could not be kept")
    func unreadAnswers() {
        hub.send("serve a", from: server)
        let value = String(repeating: "v", count: 1_000_000)
        for _ in 0..<20 { hub.send("call a", from: caller) }
        for number in 1...20 { hub.send(#"return \#(number) "\#(value)""#, from: server) }
        #expect(hub.waitingBytes(caller) <= Limits.outboxBytesMax)
        let lines = hub.read(caller)
        #expect(lines.count == 20)
        let kept = lines.prefix { $0.hasPrefix(#"{"ok":"call","#) }.count
        #expect(kept == Limits.outboxBytesMax / (value.utf8.count + 64))
        #expect(lines[kept...].allSatisfy { $0.hasPrefix(#"{"error":"limit","line":"#) })
    }
}

@Suite("The most specific server", .computing)
struct MostSpecificServerTests {
    /// Which of the patterns serves a key.
    private func found(_ key: String, among patterns: [String]) -> String? {
        let tree = PatternTree<String>()
        for pattern in patterns { _ = lend(pattern) { tree.insert($0, pattern) } }
        return lend(key) { tree.first(matching: $0) }
    }

    private func lend<Result>(_ text: String, _ body: (Span<UInt8>) -> Result) -> Result {
        body(Array(text.utf8).span)
    }

    @Test(
        "is found token by token from the left: itself, then *, then **",
        arguments: [
            ("a.b", ["**", "a.**", "a.*", "*.b", "a.b"]),
            ("a.b", ["**", "*.**", "*.*", "*.b", "a.**", "a.*"]),
            ("a.b", ["**", "*.b", "a.**"]), ("a.b", ["**", "*.**", "*.*", "*.b"]), ("a.b", ["**", "*.**"]),
            ("a", ["**", "*", "a.**", "a"]), ("a", ["**", "*.**", "*", "a.**"]), ("a", ["**", "*.**", "*"]),
            // The more specific beginning doesn't match in the end, so the search goes back.
            ("a.b.c", ["a.b.d", "a.*.d", "*.b.d", "*.b.c"]), ("a.b.c", ["a.b", "a.b.c.d", "a.*.*", "a.b.*"]),
            ("a.b.c.d", ["a.b.*.e", "a.*.c.f", "**", "a.**"]),
        ]
    )
    func order(key: String, patterns: [String]) {
        // The last pattern in the list is the right one.
        #expect(found(key, among: patterns) == patterns.last)
        #expect(found(key, among: patterns.reversed()) == patterns.last)
    }

    @Test("no pattern is found for a key that it does not match")
    func others() {
        #expect(found("a.b", among: ["a", "b", "a.b.c", "a.*.c", "*", "b.**", "*.*.*"]) == nil)
        #expect(found("a.$b", among: ["**", "a.**", "a.*", "*.*"]) == nil)
        #expect(found("$a", among: ["**", "*"]) == nil)
        #expect(found("a", among: []) == nil)
    }

    @Test("what is removed is found no longer, what is left still is")
    func removal() {
        let tree = PatternTree<String>()
        func insert(_ pattern: String) -> PatternNode<String> {
            lend(pattern) { tree.insert($0, pattern).node }
        }
        func find(_ key: String) -> String? { lend(key) { tree.first(matching: $0) } }
        let (deep, any, exact) = (insert("a.**"), insert("a.*"), insert("a.b"))
        for (node, pattern) in [(exact, "a.b"), (any, "a.*"), (deep, "a.**")] {
            #expect(find("a.b") == pattern)
            tree.remove(at: 0, from: node)
        }
        #expect(find("a.b") == nil)
        #expect(lend("a.*") { tree.node(of: $0) } == nil)
    }
}
