// Handlers that take turns: their order, their limits, and what a handler may call.

import Synchronization
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("handlers in order", .someAtATime)
struct HandlerOrderTests {
    private static let emitted = SubscribeOptions(initial: false)

    @Test("what a client emits and then calls is handled in that order, 300 times of 300")
    func emitThenCall() async throws {
        let broker = try await TestBroker()
        let (cart, till) = (try await broker.connect("cart"), try await broker.connect("till"))
        let log = Log<String>()
        let adding = try await cart.subscribe(inOrder: ["cart.add"], options: Self.emitted) { _ in
            // What a handler waits for must not let the next one pass.
            await Task.yield()
            log.add("add")
        }
        let removing = try await cart.serve("cart.remove") { (_: Call) in
            log.add("remove")
            return true
        }
        for _ in 1...300 {
            try till.pipeline.emit("cart.add", ["sku": "B07"])
            let _: Bool = try await till.call("cart.remove", ["sku": "B07"])
        }
        let wrong = zip(log.all, 0...).count { $0.0 != ($0.1 % 2 == 0 ? "add" : "remove") }
        #expect(wrong == 0)
        #expect(log.count == 600)
        withExtendedLifetime((adding, removing)) {}
    }

    @Test("handlers of all keys run one at a time, each call in its turn")
    func oneAtATime() async throws {
        let broker = try await TestBroker()
        let (server, bus) = (try await broker.connect(), try await broker.connect())
        let running = Atomic(0)
        let most = Atomic(0)
        let log = Log<Int>()
        var servings: [Disposable] = []
        for key in ["a", "b.*"] {
            servings.append(
                try await server.serve(key) { (number: Int) async throws -> Int in
                    most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                    for _ in 0..<number % 5 { await Task.yield() }
                    log.add(number)
                    running.subtract(1, ordering: .relaxed)
                    return number
                }
            )
        }
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<50 {
                // Begun here, so that the calls are sent in this order.
                let id = bus.link.state.withLock { $0.takeID() }
                let request = ObjectWriter(op: "call").adding("key", string: number % 2 == 0 ? "a" : "b.c")
                    .adding("value", json: JSON.integer(number).bytes)
                let answered = AsyncStream.makeStream(of: Void.self)
                let failure = bus.link.start(request, timeout: .max, id: id) { _ in
                    answered.continuation.finish()
                }
                #expect(failure == nil)
                tasks.addTask { for await _ in answered.stream {} }
            }
            await tasks.waitForAll()
        }
        #expect(log.all == Array(0..<50))
        #expect(most.load(ordering: .relaxed) == 1)
        servings.removeAll()
    }

    @Test("calls that are served concurrently meet each other")
    func concurrently() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let present = Atomic(0)
        let serving = try await bus.serve(concurrently: "meet") { (number: Int) async throws -> Int in
            present.add(1, ordering: .relaxed)
            try await eventually("the other comes") { present.load(ordering: .relaxed) == 2 }
            return number
        }
        async let one: Int = bus.call("meet", 1)
        async let two: Int = bus.call("meet", 2)
        #expect(try await one + two == 3)
        serving.dispose()
    }

    /// What a call of a key from a handler gives: its answer, or the error's text.
    private func answer(_ bus: Bus, _ key: String) async -> String {
        do {
            return try await bus.call(key, 1, timeout: HangGuard.duration)
        } catch {
            return "\(error)"
        }
    }

    @Test("a handler's call of its own bus is refused at once and names what helps", arguments: ["b", "b.c"])
    func ownCall(_ key: String) async throws {
        let broker = try await TestBroker()
        let (bus, caller) = (try await broker.connect(), try await broker.connect())
        let outer = try await bus.serve("a") { (_: Call) in await self.answer(bus, key) }
        let inner = try await bus.serve("b.**") { (_: Call) in "inner" }
        let words =
            "a call of \(key) would wait for the handler that makes it: serve it by serve(concurrently:)"
        #expect(await answer(caller, "a") == words)
        // After its handler, a task may call.
        #expect(await answer(bus, key) == "inner")
        let later = try await bus.serve("later") { (_: Call) in
            Task {
                while HandlerTurn.current?.isRunning(on: bus.link.queue) == true { await Task.yield() }
                return try await bus.publish("said", self.answer(bus, key))
            }
            return ""
        }
        #expect(await answer(caller, "later") == "")
        try await eventually("it called") { try await caller.get("said", as: String.self) == "inner" }
        withExtendedLifetime((outer, inner, later)) {}
    }

    @Test("a handler may call what is served concurrently, and what another client serves")
    func otherCalls() async throws {
        let broker = try await TestBroker()
        let (bus, other) = (try await broker.connect(), try await broker.connect())
        let servings = [
            try await bus.serve("a") { (_: Call) in await self.answer(bus, "free") + self.answer(bus, "b.c")
            },
            try await bus.serve(concurrently: "free") { (_: Call) in "free " },
            // The other client's key is more specific.
            try await bus.serve("b.*") { (_: Call) in "own" },
            try await other.serve("b.c") { (_: Call) in "other" },
        ]
        #expect(await answer(other, "a") == "free other")
        withExtendedLifetime(servings) {}
    }

    @Test("an event's handler, too, is refused a call of its own bus")
    func ownCallOfEvent() async throws {
        let broker = try await TestBroker()
        let (bus, other) = (try await broker.connect(), try await broker.connect())
        let serving = try await bus.serve("a") { (_: Call) in "a" }
        let observing = try await bus.subscribe(inOrder: ["e"], options: Self.emitted) { _ in
            do {
                let _: String = try await bus.call("a", 1)
            } catch {
                _ = try? await bus.publish("said", error as? BusError == .waitsForItself(key: "a"))
            }
        }
        try await other.emit("e", 1)
        try await eventually("it is refused") { try await other.get("said", as: Bool.self) == true }
        withExtendedLifetime((serving, observing)) {}
    }

    @Test("as many bytes wait as the limit allows, and not one more; each owner has its own limit")
    func limits() async throws {
        let queue = HandlerQueue()
        let gate = AsyncStream.makeStream(of: Void.self)
        let log = Log<String>()
        func job(_ name: String, _ bytes: Int, _ owner: HandlerQueue.Owner = .calls) -> HandlerQueue.Job {
            HandlerQueue.Job(owner: owner, bytes: bytes) { log.add(name) }
        }
        let begun = Flag()
        let first = HandlerQueue.Job(owner: .events(sub: 9), bytes: 1) {
            begun.raise()
            for await _ in gate.stream {}
        }
        #expect(queue.add(first, bytesMax: 0), "what waits alone is never too large")
        try await eventually("it runs") { begun.isRaised }
        #expect(queue.add(job("a", 60), bytesMax: 100))
        #expect(!queue.add(job("no", 41), bytesMax: 100))
        #expect(queue.add(job("b", 40), bytesMax: 100))
        #expect(!queue.add(job("no", 1), bytesMax: 100))
        #expect(queue.add(job("c", 100, .events(sub: 1)), bytesMax: 100))
        gate.continuation.finish()
        await queue.settle(within: .seconds(60))
        #expect(log.all == ["a", "b", "c"])
        #expect(queue.add(job("d", 100), bytesMax: 100))
        await queue.settle(within: .seconds(60))
        #expect(log.all.last == "d")
    }

    @Test("calls past the limit are refused with limit, and those before are answered")
    func tooManyCalls() async throws {
        let broker = try await TestBroker()
        let (server, bus) = (try await broker.connect(), try await broker.connect())
        let gate = AsyncStream.makeStream(of: Void.self)
        let serving = try await server.serve("s") { (text: String) async throws -> Int in
            for await _ in gate.stream {}
            return text.utf8.count
        }
        let text = String(repeating: "x", count: 1_000_000)
        let held = server.link.queue
        let waiting = HandlerQueue.Job(owner: .calls, bytes: 1) { for await _ in gate.stream {} }
        #expect(held.add(waiting, bytesMax: .max))
        let full = ClientLimits.queuedCallBytesMax - 1_000_000
        #expect(held.add(HandlerQueue.Job(owner: .calls, bytes: full) {}, bytesMax: .max))
        let error = await #expect(throws: BusError.self) {
            let _: Int = try await bus.call("s", text)
        }
        #expect(error?.code == .limit)
        gate.continuation.finish()
        #expect(try await bus.call("s", text) == 1_000_000)
        serving.dispose()
    }

    @Test("a handler that is too slow for its limit gets what waits, then the failure")
    func tooManyEvents() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let gate = AsyncStream.makeStream(of: Void.self)
        let log = Log<Int>()
        let ends = Log<BusError?>()
        let begun = Flag()
        let bytes = 3 * (ClientLimits.eventOverheadBytes + 2)
        let options = SubscribeOptions(initial: false, unreadBytesMax: bytes)
        let observing = try await bus.subscribe(
            inOrder: ["e"],
            options: options,
            onEnd: { ends.add($0) },
            { event in
                begun.raise()
                if event.value == .integer(0) { for await _ in gate.stream {} }
                log.add(event.value?.integer ?? -1)
            }
        )
        try await writer.emit("e", 0)
        try await eventually("the first runs") { begun.isRaised }
        for number in 1...4 { try writer.pipeline.emit("e", number) }
        try await writer.sync()
        try await bus.sync()
        gate.continuation.finish()
        try await eventually("it ends") { ends.count == 1 }
        // The first runs, so it doesn't wait; three wait; the fifth is one too many.
        #expect(log.all == [0, 1, 2, 3])
        #expect(ends.all == [.unreadFull(limit: bytes)])
        withExtendedLifetime(observing) {}
    }

    @Test("observers of later phases wait until the handler has returned")
    func acknowledging() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let log = Log<String>()
        let options = SubscribeOptions(initial: false, phase: 1, acknowledges: true)
        let early = try await bus.subscribe(inOrder: ["k.*"], options: options) { event in
            try? await Task.sleep(for: .milliseconds(10))
            log.add("early \(event.key)")
        }
        let late = try await bus.subscribe("k.*", options: Self.emitted) { log.add("late \($0.key)") }
        try await writer.batch([.publish("k.a", 1), .publish("k.b", 1)])
        try await eventually("both are told") { log.count == 4 }
        #expect(log.all == ["early k.a", "early k.b", "late k.a", "late k.b"])
        withExtendedLifetime((early, late)) {}
    }

    @Test("the end of a program waits for calls that had come", arguments: [false, true])
    func finishing(isConcurrent: Bool) async throws {
        let broker = try await TestBroker()
        let (server, bus) = (try await broker.connect(), try await broker.connect())
        let begun = Flag()
        let handler = { @Sendable (number: Int) async throws -> Int in
            begun.raise()
            try await Task.sleep(for: .milliseconds(30))
            return number
        }
        let serving =
            if isConcurrent {
                try await server.serve(concurrently: "s", handler)
            } else {
                try await server.serve("s", handler)
            }
        async let one: Int = bus.call("s", 1, timeout: HangGuard.duration)
        try await eventually("it runs") { begun.isRaised }
        #expect(await server.finish())
        #expect(try await one == 1)
        serving.dispose()
    }

    @Test("the end of a program waits for calls that were on their way")
    func finishingLate() async throws {
        let answers = Log<String>()
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.send(#"{"ok":"serve","id":\#(try peer.expect("serve")),"key":"s"}"#)
            let id = try peer.expect("unserve")
            let barrier = try peer.expect("sync")
            try peer.send(#"{"event":"call","call":"c","key":"s","revision":0,"value":5,"by":"x"}"#)
            try peer.send(#"{"ok":"unserve","id":\#(id),"key":"s"}"#)
            try peer.send(#"{"ok":"sync","id":\#(barrier),"revision":0}"#)
            try answers.add(peer.line() ?? "nothing")
            try peer.send(#"{"ok":"sync","id":\#(try peer.expect("sync")),"revision":0}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let serving = try await bus.serve("s") { (number: Int) in number + 1 }
        await bus.finish(within: HangGuard.duration)
        #expect(answers.all.first?.contains(#""value":6"#) == true)
        withExtendedLifetime(serving) {}
    }

    @Test("a handler that ends its own bus isn't waited for")
    func finishingWithin() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let called = try await bus.serve(concurrently: "end") { (_: Call) in
            await bus.finish(within: HangGuard.duration)
        }
        await #expect(throws: BusError.self) { let _: Bool = try await writer.call("end", 1) }
        withExtendedLifetime(called) {}
    }

    @Test("an event's handler that ends its own bus isn't waited for")
    func finishingWithinEvent() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let ended = Flag()
        let observing = try await bus.subscribe(inOrder: ["e"], options: Self.emitted) { _ in
            await bus.finish(within: HangGuard.duration)
            ended.raise()
        }
        try await writer.emit("e", 1)
        try await eventually("it ends") { ended.isRaised }
        withExtendedLifetime(observing) {}
    }

    @Test("a call whose caller was told that the connection broke isn't carried out late")
    func lostCall() async throws {
        let broker = try await TestBroker()
        let (server, bus) = (try await broker.connect(), try await broker.connect())
        let gate = AsyncStream.makeStream(of: Void.self)
        let log = Log<Int>()
        let begun = Flag()
        let serving = try await server.serve("s") { (number: Int) async throws -> Int in
            begun.raise()
            if number == 1 { for await _ in gate.stream {} }
            log.add(number)
            return number
        }
        let first = Task { let _: Int = try await bus.call("s", 1, timeout: HangGuard.duration) }
        try await eventually("the first runs") { begun.isRaised }
        let second = Task { let _: Int = try await bus.call("s", 2, timeout: HangGuard.duration) }
        try await eventually("both have come") {
            try await bus.who("s").server?.calls == 2
        }
        try await server.sync()
        try await broker.stop()
        for call in [first, second] { await #expect(throws: BusError.self) { try await call.value } }
        try await eventually("it is noticed") { !server.state.isConnected }
        gate.continuation.finish()
        await server.link.queue.settle(within: .seconds(60))
        #expect(log.count == 1, "only one had begun")
        serving.dispose()
    }

    @Test("after its handle is disposed of, also within the handler, no handler begins")
    func disposing() async throws {
        let broker = try await TestBroker()
        let (bus, writer) = (try await broker.connect(), try await broker.connect())
        let log = Log<Int>()
        let handle = Mutex<Disposable?>(nil)
        let observing = try await bus.subscribe(
            inOrder: ["e"],
            options: Self.emitted,
            onEnd: { _ in log.add(-1) },
            { event in
                // All three have come before the first one goes on.
                _ = try? await bus.sync()
                handle.withLock { $0.take() }?.dispose()
                log.add(event.value?.integer ?? 0)
            }
        )
        handle.withLock { $0 = observing }
        for number in 1...3 { try writer.pipeline.emit("e", number) }
        try await writer.sync()
        try await bus.sync()
        await bus.link.queue.settle(within: .seconds(60))
        #expect(log.all == [1])
    }
}
