// A write that handles an event has that event as its cause, without naming it.

import Observables
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("causes", .someAtATime)
struct CauseTests {
    @Test("why shows the write and the event whose callback made it")
    func chain() async throws {
        let broker = try await TestBroker()
        let cart = try await broker.connect("cart")
        let indicator = try await broker.connect("price-indicator")
        let observation = try await indicator.subscribe("cart.items") {
            [pipeline = indicator.pipeline] event in
            if event.kind == .update { try? pipeline.publish("cart.total", 42) }
        }
        let revision = try await cart.publish("cart.items", ["brick"])
        try await eventually("the total") { try broker.ask("get cart.total").contains("42") }
        let chain = try JSON(broker.ask("why cart.total"))["chain"]?.elements ?? []
        #expect(chain.map { $0["key"]?.string } == ["cart.total", "cart.items"])
        #expect(chain.map { $0["by"]?.string } == ["price-indicator", "cart"])
        #expect(chain.first?["cause"]?.integer == revision)
        observation.dispose()
    }

    @Test("a batch, a task begun in the callback, and a remote observable have the cause too")
    func everyWay() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("before", 1)
        let remote = bus.observable("remote", default: 0)
        try await remote.ready()
        let observation = try await bus.subscribe("trigger") { [weak bus] event in
            guard let bus, event.kind == .update else { return }
            try? bus.pipeline.batch { batch in
                try batch.publish("batch.first", 1)
                try batch.patch("batch.second", ["a": 1])
            }
            remote.value = 5
            Task { try await bus.publish("task", 1) }
        }
        let revision = try await bus.publish("trigger", 1)
        for key in ["batch.first", "batch.second", "remote", "task"] {
            try await eventually(key) { try broker.ask("get \(key)").hasPrefix(#"{"ok""#) }
            #expect(try await bus.entry(key)?.cause == revision, "\(key)")
        }
        observation.dispose()
    }

    @Test("an observer of a remote observable writes because of the event that it got")
    func remoteObserver() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let source = bus.observable("source", default: 0)
        try await source.ready()
        let observation = source.observe(initial: false) { [pipeline = bus.pipeline] change in
            try? pipeline.publish("effect", change.new)
        }
        let revision = try await bus.publish("source", 1)
        try await bus.sync()
        #expect(try await bus.entry("effect")?.cause == revision)
        observation.dispose()
    }

    @Test("a given cause wins, nil means none, and the same holds after the callback")
    func given() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("k", 1)
        let observation = try await bus.subscribe("k") { [pipeline = bus.pipeline] event in
            guard event.kind == .update else { return }
            try? pipeline.publish("given", 1, cause: 77)
            try? pipeline.publish("none", 1, cause: nil)
            Cause.$current.withValue(nil) { try? pipeline.publish("without", 1) }
        }
        try await bus.sync()
        #expect(try await bus.entry("given")?.cause == 77)
        for key in ["none", "without"] {
            let entry = try #require(try await bus.entry(key))
            #expect(entry.cause == nil, "\(key)")
        }
        try await bus.publish("later", 1)
        #expect(try await bus.entry("later")?.cause == nil)
        observation.dispose()
    }

    @Test("causing covers a loop's body, forEach does so by itself, and a plain loop doesn't")
    func sequences() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let revision = try await bus.publish("k", 1)
        for try await event in try await bus.subscribe("k") {
            guard event.kind == .update else { break }
            try await bus.publish("bare", 1)
            try await event.causing { try await bus.publish("causing", 1) }
        }
        let subscription = try await bus.subscribe("k")
        try await subscription.forEach { event in
            if event.kind == .update { try await bus.publish("each", 1) }
            if event.kind == .synced {
                try await bus.publish("synced", 1)
                subscription.cancel()
            }
        }
        #expect(try await bus.entry("bare")?.cause == nil)
        #expect(try await bus.entry("causing")?.cause == revision)
        #expect(try await bus.entry("each")?.cause == revision)
        let synced = try #require(try await bus.entry("synced"))
        #expect(synced.cause == nil)
    }
}
