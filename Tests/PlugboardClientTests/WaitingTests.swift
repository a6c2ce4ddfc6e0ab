// Requests that aren't answered, and peers that don't read.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("waiting", .someAtATime)
struct WaitingTests {
    @Test("a request without an answer times out, and its late answer does no harm")
    func timeout() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            let late = try peer.expect("publish")
            let second = try peer.expect("get")
            try peer.send(#"{"ok":"publish","id":\#(late),"revision":1}"#)
            try peer.send(#"{"ok":"get","id":\#(second),"key":"k","revision":1,"value":5}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        await #expect(throws: BusError.timedOut(operation: "publish")) {
            try await bus.publish("k", 5, timeout: .milliseconds(20))
        }
        #expect(try await bus.get("k", as: Int.self) == 5)
    }

    @Test("a cancelled request ends with its task")
    func cancellation() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.drain()
        }
        let bus = try await fake.connect()
        let request = Task { try await bus.publish("k", 1) }
        try await eventually("the request is under way") { bus.link.state.withLock { !$0.pending.isEmpty } }
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        #expect(bus.link.state.withLock { $0.pending.isEmpty })
    }

    @Test("a subscription that is given up in time is withdrawn at the broker")
    func abandonedSubscription() async throws {
        let lines = Log<String>()
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            while let line = try peer.line() { lines.add(line) }
        }
        let bus = try await fake.connect()
        await #expect(throws: BusError.timedOut(operation: "subscribe")) {
            _ = try await bus.subscribe("k", timeout: .milliseconds(20))
        }
        try await eventually("unsubscribe is sent") { lines.count == 2 }
        let last = lines.all.last ?? ""
        #expect(last.hasPrefix(#"{"op":"unsubscribe","#) && last.hasSuffix(#","sub":1}"#), "\(last)")
    }

    @Test("a broker that stops reading fills the outbox up to its limit, and blocks nobody")
    func deafBroker() async throws {
        let mayRead = Flag()
        let read = Log<String>()
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            while !mayRead.isRaised { Pause.sleep(seconds: 0.005) }
            while let line = try peer.line() { read.add(line) }
        }
        var options = Bus.Options.quick
        options.outboxBytesMax = 100_000
        let bus = try await fake.connect(options: options)
        let text = String(repeating: "x", count: 1_000)
        var written = 0
        let error = #expect(throws: BusError.self) {
            while written < 100_000 {
                try bus.pipeline.publish("k", text)
                written += 1
            }
        }
        #expect(error == .outboxFull(limit: 100_000))
        #expect(bus.link.state.withLock { $0.waitingBytes } <= 100_000)
        await #expect(throws: BusError.timedOut(operation: "sync")) {
            try await bus.sync(timeout: .milliseconds(20))
        }
        mayRead.raise()
        try await bus.pipeline.room()
        try bus.pipeline.publish("k", "after")
        try await eventually("all of it arrives") {
            read.all.filter { $0.contains("publish") }.count == written + 1
        }
    }

    @Test("an answer to one request leaves the others waiting")
    func outOfOrder() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            let first = try peer.expect("get")
            let second = try peer.expect("get")
            try peer.send(#"{"ok":"get","id":\#(second),"key":"b","revision":1,"value":2}"#)
            try peer.send(#"{"error":"not_found","id":\#(first),"message":"no"}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        let first = Task { try await bus.get("a", as: Int.self) }
        try await eventually("the first is sent") { bus.link.state.withLock { $0.pending.count } == 1 }
        let second = Task { try await bus.get("b", as: Int.self) }
        #expect(try await second.value == 2)
        #expect(try await first.value == nil)
    }
}
