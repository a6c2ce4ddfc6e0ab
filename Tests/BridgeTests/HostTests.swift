import Foundation
import PlugboardClient
import Synchronization
import TestSupport
import Testing

@testable import BridgePlugin

@Suite(
    "What a bus knows of other hosts",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server")
)
struct HostTests {
    private static let prefix = "/plugboard/test"
    private let etcd: EtcdCluster

    init() async throws {
        etcd = try EtcdCluster()
        try await etcd.ready()
    }

    private func host(_ name: String, _ arguments: [String] = ["--share", "s.**"]) async throws -> BridgedHost
    {
        try await BridgedHost(name, etcd: etcd.clients, prefix: Self.prefix, arguments)
    }

    private var store: EtcdStore { etcd.store(Self.prefix + "/") }

    @Test("who wrote it on which host is told, and whether that host is alive")
    func origins() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        try await a.bus.publish("s.x", 1)
        try await eventually("it is there") { try await b.values() == ["s.x": "1"] }
        let entry = try #require(try await b.bus.entry("s.x"))
        #expect((entry.by, entry.origin, entry.isWriterLive) == ("bridge/a", "client@a", true))
        #expect(try await b.bus.why("s.x").steps.first?.origin == "client@a")
        let seen = EventBox()
        let subscription = try await a.bus.subscribe("s.*", options: SubscribeOptions(initial: false))
        let observer = Task {
            for try await event in subscription { seen.add(event) }
        }
        defer { observer.cancel() }
        try await b.bus.delete("s.x")
        try await eventually("it is gone") { seen.all.last?.kind == .delete }
        #expect(seen.all.last?.origin == "@b")
    }

    @Test("what is bound to a connection goes when its host dies, and what isn't stays and says so")
    func death() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        try await a.bus.publish("s.bound", 1, while: .connected)
        try await a.bus.publish("s.plain", 2)
        let both = ["s.bound": "1", "s.plain": "2"]
        try await eventually("they are there") { try await b.values() == both }
        #expect(try await store.find(store.prefix.key("s.bound")).entry?.lease?.value ?? 0 != 0)
        #expect(try await store.find(store.prefix.key("s.plain")).entry?.lease == nil)
        #expect(try await b.bus.entry("s.plain")?.isWriterLive == true)
        a.killBridge()
        let start = ContinuousClock.now
        try await eventually("its lease ends") { try await b.values() == ["s.plain": "2"] }
        #expect(start.duration(to: .now) > .seconds(EtcdStore.leaseSeconds - 4))
        try await eventually("its connection is closed") {
            try await b.bus.entry("s.plain")?.isWriterLive == false
        }
        #expect(try await a.values() == both)
        // The host was only away: its client is still there, and so is what it bound.
        try a.startBridge()
        try await eventually("it is back") { try await b.values() == both }
        #expect(try await a.conflicts().isEmpty)
        #expect(try await b.conflicts().isEmpty)
    }

    @Test("values of hosts that are alive say so again when the bridge was killed, or their host was away")
    func revival() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        for number in 0..<3 { try await a.bus.publish("s.k\(number)", number) }
        try await eventually("they are there") { try await b.values().count == 3 }
        try await b.bus.publish("s.mine", true)
        b.killBridge()
        try await eventually("they aren't live") { try await b.bus.entry("s.k0")?.isWriterLive == false }
        try b.startBridge()
        func areLive() async throws -> Bool {
            for number in 0..<3 {
                guard let entry = try await b.bus.entry("s.k\(number)"), entry.isWriterLive,
                    (entry.by, entry.origin, entry.value.integer) == ("bridge/a", "client@a", number)
                else { return false }
            }
            return true
        }
        try await eventually("they are live again") { try await areLive() }
        let back = try await b.bus.entry("s.k0")?.revision ?? 0
        try await store.revokeLease(of: "a")
        try await eventually("they were written anew") { try await b.bus.entry("s.k0")?.revision != back }
        try await eventually("they are live again") { try await areLive() }
        #expect(try await b.bus.entry("s.mine")?.by == "client")
        #expect(try await a.status()?["sent"]?.integer == 3)
        #expect(try await b.conflicts().isEmpty)
    }

    @Test("a lease that ends is granted anew, and what stood under it is written again")
    func lostLease() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        try await a.bus.publish("s.bound", 1, while: .connected)
        try await eventually("it is there") { try await b.values() == ["s.bound": "1"] }
        let first = try await store.find(store.prefix.key("s.bound")).entry
        try await store.revokeLease(of: "a")
        try await eventually("it is written again") {
            let entry = try await store.find(store.prefix.key("s.bound")).entry
            return entry?.mod_revision != first?.mod_revision && entry?.lease != first?.lease && entry != nil
        }
        try await eventually("it is back") { try await b.values() == ["s.bound": "1"] }
        #expect(try await a.values() == ["s.bound": "1"])
        #expect(a.words.contains("the lease has ended"))
        // A write that is under way when the lease ends is made under the next one.
        try await store.revokeLease(of: "a")
        try await a.bus.publish("s.other", 2, while: .connected)
        let both = ["s.bound": "1", "s.other": "2"]
        try await eventually("both are there") { try await b.values() == both }
        #expect(try await a.values() == both)
        #expect(try await a.conflicts().isEmpty)
        #expect(try await b.conflicts().isEmpty)
    }

    @Test("a bridge that is started again goes on with its lease")
    func kept() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        try await a.bus.publish("s.bound", 1, while: .connected)
        try await eventually("it is there") { try await b.values() == ["s.bound": "1"] }
        let first = try await store.find(store.prefix.key("s.bound")).entry
        a.killBridge()
        try a.startBridge()
        try await a.untilUp()
        try await a.bus.publish("s.next", 2, while: .connected)
        try await eventually("it is there") { try await b.values()["s.next"] == "2" }
        let entry = try await store.find(store.prefix.key("s.bound")).entry
        #expect(entry?.lease == first?.lease && entry?.mod_revision == first?.mod_revision)
        #expect(try await store.find(store.prefix.key("s.next")).entry?.lease == first?.lease)
    }

    @Test("as many hosts as the limit have a connection, and one more has the bridge's")
    func limit() async throws {
        let a = try await BridgedHost("a", etcd: etcd.clients, prefix: Self.prefix, [], isBridged: false)
        let hosts = HostConnections(a.bus, name: "bridge", host: "a", peer: nil, hostsMax: 2)
        await hosts.begin(alive: ["b", "c", "d"])
        let (b, c) = (try await hosts.connection(of: "b"), try await hosts.connection(of: "c"))
        #expect(b !== c && b !== a.bus)
        #expect(try await hosts.connection(of: "b") === b)
        #expect(try await hosts.connection(of: "d") === a.bus)
        #expect(try await hosts.connection(of: "a") === a.bus)
        #expect(try await hosts.connection(of: nil) === a.bus)
        try await b.publish("s.x", 1)
        #expect(try await a.bus.entry("s.x")?.isWriterLive == true)
        await hosts.note(HostChange(host: "b", isAlive: false))
        await hosts.closeDeparted()
        try await eventually("it is closed") { try await a.bus.entry("s.x")?.isWriterLive == false }
        #expect(try await hosts.connection(of: "d") !== a.bus)
        #expect(await hosts.count == 2)
    }

    @Test("names and origins are cut to what the protocol takes")
    func names() {
        #expect(HostConnections.name(of: "b\u{7}", "bridge") == "bridge/b?")
        let long = String(repeating: "é", count: 200)
        #expect(HostConnections.name(of: long, "bridge").utf8.count == 63)
        var envelope = Envelope(host: "b", by: "cart", when: nil, id: nil, value: .integer(1))
        #expect(EtcdChange(key: "k", revision: 1, content: .put(envelope)).origin == "cart@b")
        envelope.host = String(repeating: "\"", count: 200)
        let origin = EtcdChange(key: "k", revision: 1, content: .put(envelope)).origin ?? ""
        #expect(JSON.string(origin).bytes.count - 2 <= 128 && origin.count > 60)
        #expect(EtcdChange(key: "k", revision: 1, content: .delete).origin == nil)
    }
}

/// Events that a test has seen.
private final class EventBox: Sendable {
    private let events = Mutex<[Event]>([])
    var all: [Event] { events.withLock { $0 } }
    func add(_ event: Event) { events.withLock { $0.append(event) } }
}

extension EtcdStore {
    private struct Nothing: Decodable {}

    /// Ends a host's lease, as if its time were over.
    func revokeLease(of host: String) async throws {
        let key = prefix.own(Self.hostsKey + host)
        guard let lease = try await find(key).entry?.lease else { return }
        _ = try await gateway.ask("/v3/lease/revoke", EtcdLeaseID(ID: lease), as: Nothing.self)
    }
}
