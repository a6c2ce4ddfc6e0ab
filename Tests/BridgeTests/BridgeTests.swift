import Foundation
import PlugboardClient
import TestSupport
import Testing

@testable import BridgePlugin

@Suite(
    "Two hosts with a real etcd between them",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server")
)
struct BridgeTests {
    private let etcd: EtcdCluster

    init() async throws {
        etcd = try EtcdCluster()
        try await etcd.ready()
    }

    private func host(_ name: String, _ arguments: [String] = ["--share", "s.**"]) async throws -> BridgedHost
    {
        try await BridgedHost(name, etcd: etcd.clients, prefix: "/plugboard/test", arguments)
    }

    @Test("a value arrives byte for byte, a delete deletes, and etcd shows both readably")
    func both() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        try await a.bus.publish("s.cart", JSON(#"{"price": 1.50, "n":[1,2]}"#))
        try await eventually("it is there") {
            try await b.values() == ["s.cart": #"{"price": 1.50, "n":[1,2]}"#]
        }
        let store = etcd.store("/plugboard/test/")
        let entry = try #require(try await store.find(store.prefix.key("s.cart")).entry?.value)
        let text = String(decoding: entry, as: UTF8.self)
        #expect(text.hasPrefix(#"{"host":"a","by":"client","when":"20"#))
        #expect(text.hasSuffix(#","value":{"price": 1.50, "n":[1,2]}}"#))
        try await b.bus.delete("s.cart")
        try await eventually("it is gone") { try await a.values().isEmpty }
        #expect(try await store.find(store.prefix.key("s.cart")).entry == nil)
    }

    @Test("where both have a key etcd's counts, and what only the bus has is put")
    func joining() async throws {
        let a = try await host("a")
        try await a.bus.publish("s.both", "first")
        try await eventually("it is sent") { try await a.status()?["sent"]?.integer == 1 }
        let b = try await BridgedHost(
            "b", etcd: etcd.clients, prefix: "/plugboard/test", ["--share", "s.**"], isBridged: false
        )
        try await b.bus.publish("s.both", "second")
        try await b.bus.publish("s.only", "mine")
        try b.startBridge()
        let expected = ["s.both": "\"first\"", "s.only": "\"mine\""]
        try await eventually("both agree") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == expected && other == expected
        }
        let lost = try await b.conflicts()
        #expect(lost.map(\.key) == ["s.both"])
        #expect(lost.first?.value == "\"second\"")
        try await eventually("it is counted") { try await b.status()?["conflicts"]?.integer == 1 }
    }

    @Test("a batch of 128 keys is one revision on the other bus, and a larger one is counted as split")
    func batches() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        try await BridgedHost.untilUp(a, b)
        try await a.bus.batch { batch in
            for number in 0..<128 { try batch.publish("s.k\(number)", number) }
        }
        try await eventually("all are there") { try await b.bus.keys("s.**").count == 128 }
        #expect(Set(try await b.bus.keys("s.**").map(\.revision)).count == 1)
        #expect(try await a.status()?["split"]?.integer == 0)
        try await a.bus.batch { batch in
            for number in 0..<129 { try batch.publish("s.l\(number)", number) }
        }
        try await eventually("all are there") { try await b.bus.keys("s.**").count == 257 }
        try await eventually("it is counted") { try await a.status()?["split"]?.integer == 1 }
    }

    @Test("what was written while the bridge was dead is sent, and what was deleted elsewhere is deleted")
    func away() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        for number in 0..<10 { try await a.bus.publish("s.k\(number)", number) }
        try await eventually("they are there") { try await b.values().count == 10 }
        b.killBridge()
        for number in 0..<5 { try await a.bus.delete("s.k\(number)") }
        try await b.bus.publish("s.k7", "new")
        try await b.bus.delete("s.k8")
        try await b.bus.publish("s.mine", true)
        try await eventually("the deletes are sent") { try await a.status()?["sent"]?.integer == 15 }
        try b.startBridge()
        let expected = ["s.k5": "5", "s.k6": "6", "s.k7": "\"new\"", "s.k9": "9", "s.mine": "true"]
        try await eventually("both agree") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == expected && other == expected
        }
        #expect(try await b.conflicts().isEmpty)
    }

    @Test("a pattern has one author, whose write goes over what others put there; a second one is told so")
    func ownership() async throws {
        let a = try await host("a", ["--own", "s.mine.**"])
        try await a.bus.publish("s.mine.x", 1)
        let store = etcd.store("/plugboard/test/")
        try await eventually("it is sent") { try await store.change(of: "s.mine.x")?.value?.text == "1" }
        try await store.putRaw("s.mine.x", "2")
        try await eventually("it is written again") {
            let change = try await store.change(of: "s.mine.x")
            return change?.value?.text == "1" && change?.host == "a"
        }
        #expect(try await a.values() == ["s.mine.x": "1"])
        let b = try await host("b", ["--own", "s.mine.**"])
        try await b.bus.publish("s.mine.x", 3)
        try await eventually("it is told") {
            b.words.contains("s.mine.** belongs to a: this host doesn't send it")
        }
        #expect(try await store.change(of: "s.mine.x")?.value?.text == "1")
    }

    @Test("send and receive are one way each")
    func oneWay() async throws {
        let a = try await host("a", ["--send", "s.up.**", "--receive", "s.down.**"])
        let b = try await host("b", ["--receive", "s.up.**", "--send", "s.down.**"])
        try await a.bus.publish("s.up.x", "from a")
        try await b.bus.publish("s.down.x", "from b")
        let expected = ["s.up.x": "\"from a\"", "s.down.x": "\"from b\""]
        try await eventually("both are there") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == expected && other == expected
        }
        try await a.bus.publish("s.down.x", "mine")
        try await a.bus.publish("s.up.y", 2)
        try await eventually("the next one is there") { try await b.values()["s.up.y"] == "2" }
        #expect(try await b.values()["s.down.x"] == "\"from b\"")
    }

    @Test("bridges with other prefixes stand beside each other, unless their patterns overlap")
    func several() async throws {
        let a = try await host("a")
        try await a.untilUp()
        let arguments = ["--socket", a.socket, "--etcd", etcd.clients[0], "--name", "second", "--share"]
        let second = try TestProgram("bridge", arguments + ["s.x.*,t.**"])
        try await eventually("it ends") { !second.isRunning }
        #expect(second.output.contains("\"s.x.*\" overlaps with what bridge.bridge.status shares"))
        let third = try TestProgram("bridge", arguments + ["t.**"])
        try await a.bus.publish("t.x", 1)
        let store = etcd.store("/plugboard/second/")
        try await eventually("it shares") { try await store.change(of: "t.x")?.value?.text == "1" }
        third.kill()
    }

    @Test("a value that isn't JSON is refused and told; one that a person put there is taken")
    func strangers() async throws {
        let a = try await host("a")
        let store = etcd.store("/plugboard/test/")
        try await a.untilUp()
        try await store.putRaw("s.bad", "not json")
        try await store.putRaw("s.good", #"{"by":"hand"}"#)
        try await eventually("it is there") { try await a.values() == ["s.good": #"{"by":"hand"}"#] }
        try await eventually("it is counted") { try await a.status()?["refused"]?.integer == 1 }
    }
}

extension EtcdStore {
    /// Puts bytes as somebody without a bridge does.
    func putRaw(_ key: String, _ text: String) async throws {
        try await putRaw(prefix.key(key), text)
    }

    func putRaw(_ key: Data, _ text: String) async throws {
        try await make(EtcdOperation(request_put: EtcdPut(key: key, value: Data(text.utf8))))
    }

    func deleteRaw(_ key: Data) async throws {
        try await make(EtcdOperation(request_delete_range: EtcdDelete(key: key)))
    }

    private func make(_ operation: EtcdOperation) async throws {
        let body = EtcdTransactionRequest(compare: [], success: [operation], failure: [])
        _ = try await gateway.ask("/v3/kv/txn", body, as: EtcdTransactionReply.self)
    }
}
