import Foundation
import PlugboardClient
import TestSupport
import Testing

@testable import BridgePlugin

@Suite(
    "The bridge's limits, at each and one past it",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server")
)
struct BridgeLimitTests {
    private let etcd: EtcdCluster

    init() async throws {
        etcd = try EtcdCluster()
        try await etcd.ready()
    }

    private func put(_ values: [(key: String, value: JSON)], _ store: EtcdStore) async throws {
        for start in stride(from: 0, to: values.count, by: 100) {
            let writes = values[start..<min(start + 100, values.count)].map {
                let id = WriteID(bridge: "test", revision: 1)
                return EtcdTransaction.Write(key: $0.key, guardRevision: 0, value: $0.value, by: nil, id: id)
            }
            guard case .done = try await store.perform(EtcdTransaction(writes: writes)) else {
                throw EtcdError.refused(code: 0, reason: "a key was there already")
            }
        }
    }

    private func host(_ name: String, _ prefix: String) async throws -> BridgedHost {
        try await BridgedHost(name, etcd: etcd.clients, prefix: prefix, ["--share", "s.**"])
    }

    @Test("a range of one page, and one of a key more", arguments: [0, 1])
    func pages(more: Int) async throws {
        let store = etcd.store("/pages-\(more)/")
        let keys = (0..<(BridgeLimits.pageKeysMax + more)).map { "s.k\($0)" }
        try await put(keys.map { ($0, .integer(1)) }, store)
        let found = try await store.range().changes.map(\.key)
        #expect(found.count == keys.count && Set(found) == Set(keys))
    }

    @Test("what fits into a batch comes to the bus in one, and a byte more in two", arguments: [0, 1])
    func batchBytes(more: Int) async throws {
        let prefix = "/batch-\(more)/"
        let first = BridgeLimits.batchBytesMax / 2
        // A batch counts 256 bytes and the key for each value, and leaves 512 for the next one.
        let second = BridgeLimits.batchBytesMax - (first + 3 + 256) - 512 + more
        for (key, bytes) in [("s.a", first), ("s.b", second)] {
            let value = JSON.string(String(repeating: "x", count: bytes - 2))
            try await put([(key, value)], etcd.store(prefix))
        }
        let a = try await host("a", prefix)
        try await eventually("both are there") { try await a.bus.keys("s.*").count == 2 }
        let revisions = try await a.bus.keys("s.*").map(\.revision)
        #expect(Set(revisions).count == 1 + more)
        try await eventually("the comparison is complete") {
            let cursor = try await a.bus.entry("bridge.bridge.cursor")?.decode(as: BridgeCursor.self)
            return cursor.map { $0.etcd > 0 && $0.compared == nil } ?? false
        }
    }

    @Test("as many writes as a batch of the bus may have come in one, and more in several")
    func batchWrites() async throws {
        // Two of a batch's writes are the cursor and what is kept of a conflict.
        let count = BridgeLimits.batchWritesMax - 8
        for more in [0, 1] {
            let prefix = "/writes-\(more)/"
            try await put((0..<(count + more)).map { ("s.k\($0)", .integer(1)) }, etcd.store(prefix))
            let a = try await host("a", prefix)
            try await eventually("all are there") { try await a.bus.keys("s.*").count == count + more }
            #expect(Set(try await a.bus.keys("s.*").map(\.revision)).count == 1 + more)
        }
    }

    @Test("an answer of as many bytes as there may be, and one of a byte more")
    func answerBytes() async throws {
        let body = Data(#"{"key":"eA=="}"#.utf8)
        let request = EtcdRequest(url: etcd.clients[0] + "/v3/kv/range", body: body, milliseconds: 3_000)
        let count = try await EtcdTransfer().send(request).body.count
        #expect(try await EtcdTransfer(answerBytesMax: count).send(request).status == 200)
        await #expect(throws: TransferError.self) {
            try await EtcdTransfer(answerBytesMax: count - 1).send(request)
        }
    }

    @Test("a watch with as many unread bytes as may wait, and with a byte more")
    func watchBytes() {
        var input = WatchInput(bytesMax: 10)
        #expect(input.take(Data("1234\n123456".utf8)) == [Data("1234".utf8)])
        #expect(input.isOpen)
        #expect(input.take(Data("7".utf8)).isEmpty)
        #expect(!input.isOpen)
        // What was handled makes room.
        input.unread -= 4
        #expect(input.isOpen)
    }
}

@Suite("What the status tells")
struct BridgeHealthTests {
    private let settings = BridgeSettings(prefix: EtcdPrefix(text: "/"), host: "a")

    private func lag(_ health: BridgeHealth) -> (revisions: Int?, milliseconds: Int?) {
        let lag = health.status(MirrorFigures(), settings)["lag"]
        return (lag?["revisions"]?.integer, lag?["milliseconds"]?.integer)
    }

    @Test("how many revisions the bus is behind, for how long, and that it has caught up")
    func lag() async throws {
        let health = BridgeHealth()
        health.behind(newest: 10, cursor: 4)
        try await Task.sleep(for: .milliseconds(20))
        health.behind(newest: 10, cursor: 7)
        #expect(lag(health).revisions == 3)
        #expect(lag(health).milliseconds ?? 0 >= 20)
        health.behind(newest: 10, cursor: 10)
        #expect(lag(health) == (0, 0))
    }

    @Test("the troubles of a session that has ended are none of the next one's")
    func troubles() {
        let health = BridgeHealth()
        health.cannotSend(.unavailable(reason: "no leader"))
        health.cannotKeepLease(.unavailable(reason: "no leader"))
        health.watching(on: "etcd")
        health.judge(answered: .now)
        #expect(!health.isUp)
        health.failed("the bus was lost")
        health.watching(on: "etcd")
        health.judge(answered: .now)
        #expect(health.isUp)
    }
}
