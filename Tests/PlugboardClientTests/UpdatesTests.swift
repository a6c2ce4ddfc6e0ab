// Subscriptions whose values are decoded.

import TestSupport
import Testing

@testable import PlugboardClient

@Suite("decoded updates")
struct UpdatesTests {
    @Test("a value that can't be decoded is a fault, and the sequence continues with the next one")
    func badValue() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect("till")
        let faults = Log<Fault>()
        let watching = bus.onFault { faults.add($0) }
        try await bus.publish("n.a", "text")
        let subscription = try await bus.subscribe("n.*")
        try await bus.publish("n.b", 1)
        try await bus.publish("n.b", ["no": "number"])
        try await bus.delete("n.b")
        try await bus.emit("n.b", 8)
        try await bus.publish("n.a", 2)
        bus.stop()
        var told: [String] = []
        for try await update in subscription.updates(as: Int.self) {
            told.append("\(update.key) \(update.value) \(update.revision) \(update.event.by ?? "")")
        }
        #expect(told == ["n.b 1 2 till", "n.a 2 5 till"])
        #expect(faults.all.map(\.key) == ["n.a", "n.b"])
        for fault in faults.all {
            guard case .undecodable = fault.error else { throw NeverHappened(description: "\(fault)") }
        }
        watching.dispose()
    }
}
