// Calls between two buses, and calls that aren't answered.

import Observables
import Synchronization
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("calls", .someAtATime)
struct CallTests {
    struct Order: Codable {
        var sku: String
    }

    private func code(_ body: () async throws -> JSON) async -> BusError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? BusError)?.code
        }
    }

    @Test("the client that serves answers a call, with a type at both ends")
    func answered() async throws {
        let broker = try await TestBroker()
        let (cart, till) = (try await broker.connect("cart"), try await broker.connect("till"))
        let serving = try await cart.serve("cart.*") { (call: Call) in
            let order: Order = try call.decode()
            return [call.key, order.sku, call.by ?? ""]
        }
        let answer: [String] = try await till.call("cart.add", Order(sku: "brick"))
        #expect(answer == ["cart.add", "brick", "till"])
        serving.dispose()
        try await cart.sync()
        #expect(await code { try await till.call("cart.add", 1) } == .noProvider)
    }

    @Test("a spare takes over when the server ends, is told before its first call, and stands in line again")
    func spare() async throws {
        let broker = try await TestBroker()
        let (first, second) = (try await broker.connect("first"), try await broker.connect("second"))
        let told = Mutex<[String]>([])
        func serve(_ bus: Bus, _ name: String) async throws -> Disposable {
            try await bus.serve("s", as: .spare { told.withLock { $0.append(name) } }) { (call: Call) in
                told.withLock { $0.append("\(name) \(call.key)") }
                return name
            }
        }
        let serving = try await serve(first, "first")
        let waiting = try await serve(second, "second")
        let caller = try await broker.connect()
        let server = try await caller.who("s").server
        #expect(server?.name == "first" && server?.spares.map(\.name) == ["second"])
        serving.dispose()
        try await first.sync()
        #expect(try await caller.call("s", 1) == "second")
        let again = try await serve(first, "first")
        waiting.dispose()
        try await second.sync()
        #expect(try await caller.call("s", 1) == "first")
        #expect(told.withLock { $0 } == ["first", "second", "second s", "first", "first s"])
        withExtendedLifetime(again) {}
    }

    @Test("a call that came before the broker knew that serving ends is answered", arguments: [false, true])
    func lateCall(isStop: Bool) async throws {
        let answers = Log<String>()
        let call = #"{"event":"call","call":"c","key":"s","revision":0,"value":5,"by":"x"}"#
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.send(#"{"ok":"serve","id":\#(try peer.expect("serve")),"key":"s"}"#)
            let id = try peer.expect("unserve")
            try peer.send(call)
            try answers.add(peer.line() ?? "nothing")
            try peer.send(#"{"ok":"unserve","id":\#(id),"key":"s"}"#)
            try peer.send(call)
            try answers.add(peer.line() ?? "nothing")
            try peer.drain()
        }
        let bus = try await fake.connect()
        let serving = try await bus.serve("s") { (number: Int) in number + 1 }
        if isStop { bus.stop() } else { serving.dispose() }
        try await eventually("both are answered") { answers.count == 2 }
        #expect(answers.all[0].contains(#""value":6"#))
        #expect(answers.all[1].contains(#""code":"no_provider""#))
        bus.close()
    }

    @Test("a server's error reaches the caller with its code")
    func errors() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        struct Odd: Error {}
        let serving = try await bus.serve("s") { (order: Order) async throws -> Int in
            switch order.sku {
            case "known": return 1
            case "odd": throw Odd()
            case "bad code": throw CallError("Not A Code", "…")
            default: throw CallError("unknown_sku", "there is no \(order.sku)")
            }
        }
        #expect(try await bus.call("s", Order(sku: "known")) == 1)
        let error = await #expect(throws: BusError.self) {
            let _: Int = try await bus.call("s", Order(sku: "x"))
        }
        let words = "there is no x"
        #expect(error == .refused(code: "unknown_sku", message: words, hint: nil, revision: nil))
        for sku in ["odd", "bad code"] {
            #expect(await code { try await bus.call("s", Order(sku: sku)) } == .failed)
        }
        #expect(await code { try await bus.call("s", 5) } == .badRequest)
        let unreadable = await #expect(throws: BusError.self) {
            let _: String = try await bus.call("s", Order(sku: "known"))
        }
        guard case .undecodable("s", _)? = unreadable else {
            throw NeverHappened(description: "\(String(describing: unreadable))")
        }
        serving.dispose()
    }

    @Test("an answer that is too long for a line is an error rather than silence")
    func longAnswer() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let serving = try await bus.serve("s") { (count: Int) in String(repeating: "x", count: count) }
        let long: String = try await bus.call("s", 1_000_000)
        #expect(long.utf8.count == 1_000_000)
        #expect(await code { try await bus.call("s", 1_048_576) } == .limit)
        serving.dispose()
    }

    @Test("an answer that is nested too deep is an error at once")
    func deepAnswer() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let serving = try await bus.serve("s") { (depth: Int) in
            (0..<depth).reduce(JSON.null) { value, _ in .array([value]) }
        }
        #expect(await code { try await bus.call("s", 64, timeout: HangGuard.duration) } == nil)
        #expect(await code { try await bus.call("s", 65, timeout: HangGuard.duration) } == .failed)
        serving.dispose()
    }

    @Test("an answer that the broker refuses is a fault, and once an error in its place")
    func refusedAnswer() async throws {
        let answers = Log<String>()
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.send(#"{"ok":"serve","id":\#(try peer.expect("serve")),"key":"s"}"#)
            try peer.send(#"{"event":"call","call":"c","key":"s","revision":0,"value":5,"by":"x"}"#)
            try peer.send(#"{"error":"limit","id":\#(try peer.expect("return")),"message":"too long"}"#)
            let line = try peer.line() ?? "nothing"
            answers.add(line)
            let id = line.requestID ?? -1
            try peer.send(#"{"error":"limit","id":\#(id),"message":"too long"}"#)
            try answers.add(peer.line() ?? "nothing")
        }
        let bus = try await fake.connect()
        let faults = Log<Fault>()
        let observation = bus.onFault { faults.add($0) }
        let serving = try await bus.serve("s") { (number: Int) in number }
        try await eventually("both are told") { faults.count == 2 }
        bus.close()
        try await eventually("the broker has heard it") { answers.count == 2 }
        let told = #""call":"c","error":{"code":"limit","message":"the answer can't be sent: "#
        #expect(answers.all[0].contains(told))
        #expect(answers.all[1] == "nothing")
        #expect(faults.all.map(\.key) == ["s", "s"])
        withExtendedLifetime((serving, observation)) {}
    }

    @Test("of a server's error, as much of the message is sent as fits into a line")
    func longMessage() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let serving = try await bus.serve("s") { (call: Call) throws -> Int in
            throw CallError("much", String(repeating: "\u{1}", count: 2_000_000))
        }
        let error = await #expect(throws: BusError.self) {
            let _: Int = try await bus.call("s", 1, timeout: HangGuard.duration)
        }
        guard case .refused("much", let message, _, _)? = error else {
            throw NeverHappened(description: "\(String(describing: error))")
        }
        #expect(message.unicodeScalars.count == ClientLimits.messageCharactersMax)
        serving.dispose()
    }

    @Test("a caller that waits too long is told so, and one whose server goes is told at once")
    func unanswered() async throws {
        let broker = try await TestBroker()
        let (server, bus) = (try await broker.connect(), try await broker.connect())
        let serving = try await server.serve("s") { (seconds: Int) async throws -> Int in
            try await Task.sleep(for: .seconds(seconds))
            return seconds
        }
        let late = await #expect(throws: BusError.self) {
            let _: Int = try await bus.call("s", 60, timeout: .milliseconds(20))
        }
        #expect(late == .timedOut(operation: "call"))
        let waiting = Task { await code { try await bus.call("s", 60) } }
        try await bus.sync()
        server.close()
        let outcome = await waiting.value
        // The provider may have gone before the call.
        #expect(outcome == .providerGone || outcome == .noProvider)
        serving.dispose()
    }

    @Test("what a handler writes has the call as its cause, all the way back")
    func cause() async throws {
        let broker = try await TestBroker()
        let (cart, till) = (try await broker.connect("cart"), try await broker.connect("till"))
        let serving = try await cart.serve("cart.add") { (order: Order) in
            try await cart.publish("cart.items", [order.sku])
        }
        let observation = try await till.subscribe("scanned", options: SubscribeOptions(initial: false)) {
            _ in
            Task { let _: Int = try await till.call("cart.add", Order(sku: "brick")) }
        }
        let scanned = try await till.publish("scanned", 1)
        try await eventually("the cart") { try broker.ask("get cart.items").contains("brick") }
        #expect(try await till.entry("cart.items")?.cause == scanned)
        let chain = try JSON(broker.ask("why cart.items"))["chain"]?.elements ?? []
        #expect(chain.map { $0["key"]?.string } == ["cart.items", "cart.add", "scanned"])
        #expect(chain.map { $0["op"]?.string } == ["publish", "call", "publish"])
        let before = try await till.publish("unrelated", 1)
        let called: Int = try await till.call("cart.add", Order(sku: "block"), cause: nil)
        let entry = try #require(try await till.entry("cart.items"))
        #expect(entry.revision == called)
        #expect(entry.cause == before)
        observation.dispose()
        serving.dispose()
    }

    @Test("only one client serves a key; the most specific of several patterns answers")
    func specific() async throws {
        let broker = try await TestBroker()
        let (one, two) = (try await broker.connect(), try await broker.connect())
        var servings: [Disposable] = []
        for pattern in ["a.**", "a.*", "a.b.**", "*.b", "a.b.c"] {
            servings.append(try await one.serve(pattern) { (_: Call) in pattern })
        }
        for bus in [one, two] {
            let error = await #expect(throws: BusError.self) {
                _ = try await bus.serve("a.*") { (_: Call) in 1 }
            }
            #expect(error?.isConflict == true)
        }
        let expected = ["a": "a.**", "a.x": "a.*", "a.b": "a.b.**", "a.b.c": "a.b.c", "z.b": "*.b"]
        for (key, pattern) in expected {
            let answer: String = try await two.call(key, 1)
            #expect(answer == pattern, "\(key)")
        }
        servings.removeAll()
        try await one.sync()
        #expect(await code { try await two.call("a", 1) } == .noProvider)
    }

    @Test("serving continues with a new broker, and ends with stop")
    func reconnecting() async throws {
        let broker = try await TestBroker()
        let (server, bus) = (try await broker.connect(), try await broker.connect())
        let serving = try await server.serve("s") { (number: Int) in number + 1 }
        try await broker.stop()
        for bus in [server, bus] { try await eventually("it is noticed") { !bus.state.isConnected } }
        try await broker.start()
        for bus in [server, bus] { try await eventually("it is back") { bus.state.isConnected } }
        #expect(try await bus.call("s", 1) == 2)
        server.stop()
        try await server.sync()
        #expect(await code { try await bus.call("s", 1) } == .noProvider)
        serving.dispose()
    }
}
