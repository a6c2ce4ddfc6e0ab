// Questions about the bus: who observes, what caused a value, what a write would do, and
// what its observers got.

import Observables
import Synchronization
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("who, why, explain and trace", .someAtATime)
struct InsightTests {
    @Test("who names the observers of a key with their state, its writer and its server")
    func who() async throws {
        let broker = try await TestBroker()
        let (till, observer) = (try await broker.connect("till"), try await broker.connect("watcher"))
        let revision = try await till.publish("cart.total", 42)
        let serving = try await till.serve("cart.*") { (call: Call) in true }
        let options = SubscribeOptions(initial: false, phase: 7)
        let subscription = try await observer.subscribe("cart.**", options: options)
        try await subscription.pause()
        try await till.publish("cart.items", [1])
        let audience = try await till.who("cart.total")
        #expect(audience.key == "cart.total")
        #expect(!audience.hasMore)
        let told = try #require(audience.observers.first)
        #expect(audience.observers.count == 1)
        #expect((told.client, told.name, told.pattern, told.phase) == (2, "watcher", "cart.**", 7))
        #expect(told.sub == .integer(subscription.sub))
        #expect((told.state, told.owed) == (.paused, 1))
        let writer = Audience.Writer(client: 1, name: "till", isLive: true, revision: revision)
        #expect(audience.writer == writer)
        #expect(
            (audience.server?.name, audience.server?.pattern, audience.server?.calls) == ("till", "cart.*", 0)
        )
        try await subscription.resume()
        #expect(try await till.who("cart.total").observers.first?.state == .live)
        let nobody = try await till.who("nothing.here")
        #expect(nobody.observers.isEmpty && nobody.writer == nil && nobody.server == nil)
        let error = await #expect(throws: BusError.self) { try await till.who("cart.*") }
        #expect(error?.code == .badKey)
        serving.dispose()
    }

    @Test("why goes from a value back to its first cause")
    func why() async throws {
        let broker = try await TestBroker()
        let (cart, indicator) = (try await broker.connect("cart"), try await broker.connect("indicator"))
        let first = try await cart.publish("cart.items", ["B07"])
        let second = try await indicator.publish("cart.total", 42, cause: first)
        let chain = try await cart.why("cart.total")
        #expect(chain.key == "cart.total" && !chain.isTruncated && !chain.hasMore)
        #expect(chain.steps.map(\.key) == ["cart.total", "cart.items"])
        #expect(chain.steps.map(\.revision) == [second, first])
        #expect(chain.steps.map(\.by) == ["indicator", "cart"])
        #expect(chain.steps.map(\.operation) == ["publish", "publish"])
        #expect(chain.steps.map(\.cause) == [first, nil])
        #expect(chain.steps.allSatisfy { $0.when?.hasSuffix("Z") == true })
        let short = try await cart.why("cart.total", limit: 1)
        #expect(short.steps.count == 1 && short.hasMore)
        try await indicator.publish("shown", true, while: .connected)
        #expect(await indicator.finish(within: HangGuard.duration))
        #expect(try await cart.why("shown").steps.first?.reason == .disconnected)
        let error = await #expect(throws: BusError.self) { try await cart.why("never") }
        #expect(error?.code == .notFound)
    }

    @Test("explain says what a write would do, and writes nothing")
    func explain() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("ada")
        let revision = try await bus.publish("seat.12", "ada")
        let refused = try await bus.explain(.publish("seat.12", "bob", ifRevision: 0))
        #expect(refused.refusal?.isConflict == true)
        guard case .refused(_, _, _, revision: revision)? = refused.refusal else {
            throw NeverHappened(description: "\(refused) names revision \(revision)")
        }
        #expect(refused.event == nil && refused.observers.isEmpty)
        let alone = try await bus.explain(.patch("seat.12", ["name": "bob"]))
        #expect(alone.refusal == nil && alone.note != nil)
        #expect(alone.event == .update && alone.revision == revision + 1)
        #expect(alone.value?.text == #"{"name":"bob"}"#)
        let options = SubscribeOptions(where: [Part("/price") < 100])
        let cheap = try await bus.subscribe("seat.*", options: options)
        let every = try await bus.subscribe("seat.12")
        let told = try await bus.explain(.emit("seat.12", 1))
        #expect(told.key == "seat.12" && told.event == .emit && !told.hasMore)
        #expect(
            Set(told.observers.map { "\($0.pattern) \($0.outcome.map { "\($0)" } ?? "-")" }) == [
                "seat.* filtered", "seat.12 sent",
            ]
        )
        #expect(told.observers.allSatisfy { $0.name == "ada" && $0.phase == 5 })
        #expect(told.observers.allSatisfy { $0.awaits == nil })
        let price = try await broker.connect("price")
        let earlier = SubscribeOptions(initial: false, phase: 1, acknowledges: true)
        let first = try await price.subscribe("seat.12", options: earlier)
        let waiting = try await bus.explain(.publish("seat.12", 1)).observers.last
        #expect(waiting?.outcome == .waiting && waiting?.awaits?.phase == 1)
        #expect(waiting?.awaits?.observers.map(\.name) == ["price"])
        #expect(waiting?.awaits?.observers.first?.sub == .integer(first.sub))
        #expect(waiting?.awaits?.hasMore == false)
        first.cancel()
        #expect(try await bus.explain(.delete("seat.12")).event == .delete)
        #expect(try await bus.entry("seat.12")?.revision == revision)
        cheap.cancel()
        every.cancel()
    }

    @Test("trace reports what each observer got of each write, until it is disposed of")
    func trace() async throws {
        let broker = try await TestBroker()
        let (till, observer) = (try await broker.connect("till"), try await broker.connect("watcher"))
        let told = Mutex<[Trace]>([])
        let tracing = try await till.trace("cart.*", "bell") { trace in told.withLock { $0.append(trace) } }
        let subscription = try await observer.subscribe("cart.**")
        let first = try await till.publish("cart.total", 42, cause: 7)
        try await till.publish("other", 1)
        try await subscription.pause()
        try await till.publish("cart.total", 43)
        try await till.emit("bell", true)
        try await eventually("three writes are traced") { told.withLock { $0.count } == 3 }
        let traces = told.withLock { $0 }
        #expect(traces.map(\.key) == ["cart.total", "cart.total", "bell"])
        #expect(traces.map(\.operation) == ["publish", "publish", "emit"])
        #expect((traces[0].revision, traces[0].by, traces[0].cause) == (first, "till", 7))
        let sent = try #require(traces[0].observers.first)
        #expect((sent.client, sent.name, sent.outcome) == (2, "watcher", .sent))
        #expect(sent.sub == .integer(subscription.sub) && sent.microseconds != nil)
        #expect(traces[1].observers.map(\.outcome) == [.paused])
        #expect(traces[2].observers.isEmpty && !traces[2].hasMore && traces[2].dropped == 0)
        let error = await #expect(throws: BusError.self) { try await till.trace("a.**.b") { _ in } }
        #expect(error?.code == .badPattern)
        tracing.dispose()
        try await till.publish("cart.total", 44)
        try await till.sync()
        #expect(told.withLock { $0.count } == 3)
    }
}
