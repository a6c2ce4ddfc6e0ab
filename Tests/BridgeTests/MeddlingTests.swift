import PlugboardClient
import TestSupport
import Testing

@testable import BridgePlugin

@Suite(
    "Known faults of etcd change nothing for good",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server"),
    .enabled(if: MeddlingGateway.isPossible, "the gateway needs python3")
)
struct MeddlingTests {
    private static let prefix = "/plugboard/test"
    private let etcd: EtcdCluster
    private let gateway: MeddlingGateway

    init() async throws {
        etcd = try EtcdCluster()
        try await etcd.ready()
        gateway = try await MeddlingGateway(to: etcd.clients[0])
    }

    /// Host a behind the gateway, and host b beside it.
    private func hosts(compare seconds: Int = 600) async throws -> (a: BridgedHost, b: BridgedHost) {
        let arguments = ["--share", "s.**", "--compare", "\(seconds)"]
        let a = try await BridgedHost("a", etcd: gateway.nodes, prefix: Self.prefix, arguments)
        let b = try await BridgedHost("b", etcd: etcd.clients, prefix: Self.prefix, ["--share", "s.**"])
        try await BridgedHost.untilUp(a, b)
        return (a, b)
    }

    private func agree(_ a: BridgedHost, _ b: BridgedHost, _ expected: [String: String]) async throws {
        try await eventually("both agree") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == expected && other == expected
        }
    }

    @Test("events that come twice are taken once")
    func twice() async throws {
        let (a, b) = try await hosts()
        try await gateway.meddle(.init(twice: true))
        for number in 0..<30 { try await b.bus.publish("s.k\(number % 7)", number) }
        for number in 0..<5 { try await a.bus.publish("s.k\(number)", -number) }
        try await b.bus.delete("s.k6")
        let status = try await b.status()
        #expect(status?["state"]?.string == "up")
        try await eventually("both agree") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == other && one["s.k6"] == nil && one.count == 6
        }
        let applied = try await a.status()?["applied"]?.integer ?? 0
        #expect(applied <= 31)
    }

    @Test("an event that never comes is found by a comparison, a delete as well")
    func dropped() async throws {
        let (a, b) = try await hosts(compare: 1)
        try await b.bus.publish("s.gone", 1)
        try await agree(a, b, ["s.gone": "1"])
        try await gateway.meddle(.init(dropped: "s.gone"))
        try await b.bus.delete("s.gone")
        try await b.bus.publish("s.other", 2)
        try await agree(a, b, ["s.other": "2"])
        #expect(a.words.contains("the watch had lost their events"))
        try await gateway.meddle(.init(dropped: "s.lost"))
        try await b.bus.publish("s.lost", 3)
        try await agree(a, b, ["s.other": "2", "s.lost": "3"])
    }

    @Test("events that come late are dropped, and found by a comparison")
    func late() async throws {
        let (a, b) = try await hosts(compare: 1)
        try await gateway.meddle(.init(late: "late"))
        let store = etcd.store(Self.prefix + "/")
        for key in ["s.a", "s.late", "s.b"] {
            try await b.bus.publish(key, 1)
            try await eventually("it is in etcd") { try await store.change(of: key) != nil }
        }
        try await agree(a, b, ["s.a": "1", "s.late": "1", "s.b": "1"])
        #expect(a.words.contains("the watch had lost their events"))
    }

    @Test("a watch that falls silent is opened anew")
    func silent() async throws {
        let (a, b) = try await hosts()
        try await gateway.meddle(.init(silent: true))
        try await b.bus.publish("s.x", 1)
        try await agree(a, b, ["s.x": "1"])
    }

    @Test("a watch that never says anything is opened anew, although nothing else happens in etcd")
    func mute() async throws {
        let (a, b) = try await hosts()
        try await gateway.meddle(.init(silent: true, mute: 2))
        try await b.bus.publish("s.x", 1)
        try await eventually("both agree") { try await a.values() == ["s.x": "1"] }
    }

    @Test("a write whose answer is lost is made once")
    func unanswered() async throws {
        let (a, b) = try await hosts()
        let seen = try await b.bus.subscribe("s.**", options: SubscribeOptions(delivery: .all))
        try await gateway.meddle(.init(unanswered: 3))
        for number in 0..<5 {
            try await a.bus.publish("s.k\(number)", number)
            try await eventually("it is there") { try await b.values()["s.k\(number)"] == "\(number)" }
        }
        try await a.bus.delete("s.k0")
        try await gateway.meddle(.init(unanswered: 2))
        try await a.bus.publish("s.k1", "last")
        try await agree(a, b, ["s.k1": "\"last\"", "s.k2": "2", "s.k3": "3", "s.k4": "4"])
        var changes = 0
        for try await event in seen where event.kind != .synced {
            changes += 1
            if event.value?.text == "\"last\"" { break }
        }
        #expect(changes == 7)
        #expect(try await a.conflicts().isEmpty)
        #expect(try await b.conflicts().isEmpty)
    }

    @Test("it comes up again when what it couldn't send is not to be sent any more")
    func nothingLeft() async throws {
        let (a, b) = try await hosts()
        try await a.bus.publish("s.x", 1)
        try await agree(a, b, ["s.x": "1"])
        let store = etcd.store(Self.prefix + "/")
        // a doesn't hear of the delete, so etcd refuses its write, and the question how far etcd is fails.
        try await gateway.meddle(.init(silent: true, unansweredPuts: 8))
        try await b.bus.delete("s.x")
        try await eventually("etcd has no value") { try await store.change(of: "s.x") == nil }
        try await a.bus.publish("s.x", 2)
        try await eventually("it is apart") { try await !a.isUp() }
        try await a.bus.delete("s.x")
        try await a.untilUp()
        try await agree(a, b, [:])
    }
}
