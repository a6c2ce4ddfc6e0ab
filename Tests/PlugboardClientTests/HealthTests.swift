// How a program is, as it tells at `NAME.health`.

import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("health", .someAtATime)
struct HealthTests {
    @Test("it is told with its state, its time, a message and counts, and ends with the connection")
    func told() async throws {
        let broker = try await TestBroker()
        let (till, observer) = (try await broker.connect("till 3"), try await broker.connect())
        till.health(.degraded, "no paper", counts: ["unprinted": 3, "late": 1])
        try await till.sync()
        let entry = try #require(try await observer.entry("till%203.health"))
        let time = try #require(entry.value["since"]?.string)
        #expect(time.count == 24 && time.hasSuffix("Z"))
        #expect(
            entry.value.text
                == #"{"state":"degraded","since":"\#(time)","message":"no paper","counts":{"late":1,"unprinted":3}}"#
        )
        #expect(entry.lifetime == .connected && entry.by == "till 3")
        till.close()
        try await eventually("it is gone") { try await observer.entry("till%203.health") == nil }
    }

    @Test("the same once more sends nothing, and the time is that of the last change of state")
    func changes() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("till")
        var entries: [Entry] = []
        let steps: [(Bus.Health, String?)] = [(.well, nil), (.well, nil), (.well, "slow"), (.down, "slow")]
        for (state, message) in steps {
            bus.health(state, message)
            try await bus.sync()
            entries.append(try #require(try await bus.entry("till.health")))
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(entries[0].revision == entries[1].revision && entries[1].revision < entries[2].revision)
        let times = entries.map { $0.value["since"]?.string }
        #expect(times[0] == times[2] && times[2] != times[3])
        #expect(entries[3].value["state"]?.string == "down" && entries[2].value["counts"] == nil)
    }

    @Test("many changes at once are few reports, and the last one counts")
    func many() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("till")
        for number in 1...10_000 { bus.health(.degraded, "line \(number)") }
        try await eventually("the last one is there") {
            try await bus.entry("till.health")?.value["message"]?.string == "line 10000"
        }
        #expect(try await bus.sync() < 5_000)
    }

    @Test("it is told again on the next connection, as it was meanwhile")
    func again() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("till")
        bus.health(.well)
        try await bus.sync()
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        bus.health(.degraded, "no broker")
        try await broker.start()
        let other = try await broker.connect("other")
        try await eventually("it is there") {
            try await other.entry("till.health")?.value["message"]?.string == "no broker"
        }
    }

    @Test("a message is cut between characters", arguments: [0, 1])
    func cut(more: Int) {
        let whole = String(repeating: "x", count: HealthReport.messageBytesMax - 2) + "é"
        let text = String(repeating: "x", count: more) + whole
        #expect(ToldHealth.cut(text) == (more == 0 ? whole : String(text.dropLast())))
    }

    @Test("what the broker refuses is a fault, and a program without a name tells nothing")
    func refused() async throws {
        let broker = try await TestBroker()
        let nameless = try await broker.connect()
        nameless.health(.well)
        #expect(try await nameless.sync() == 0)
        #expect(try await nameless.keys().isEmpty)
    }
}
