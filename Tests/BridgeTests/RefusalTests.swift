import Foundation
import PlugboardClient
import PlugboardWire
import TestSupport
import Testing

@testable import BridgePlugin

@Suite(
    "What etcd has and no bus can is left alone, and the rest goes on",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server")
)
struct RefusalTests {
    private static let prefix = "/plugboard/test/"
    private let etcd: EtcdCluster
    private let store: EtcdStore

    init() async throws {
        etcd = try EtcdCluster()
        try await etcd.ready()
        store = etcd.store(Self.prefix)
    }

    private func host(_ name: String) async throws -> BridgedHost {
        try await BridgedHost(name, etcd: etcd.clients, prefix: Self.prefix, ["--share", "s.**"])
    }

    /// The keys that the status names, and why.
    private func refusals(_ host: BridgedHost) async throws -> [String: String] {
        var refusals: [String: String] = [:]
        for each in try await host.status()?["refusals"]?.elements ?? [] {
            refusals[each["key"]?.string ?? ""] = each["why"]?.string
        }
        return refusals
    }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    private static func text(_ bytes: Int) -> String {
        "\"" + String(repeating: "x", count: bytes - 2) + "\""
    }

    /// Keys and values of etcd, the names that the status gives them, and what it says of them.
    static let bad: [(key: [UInt8], value: String, name: String, why: String)] = [
        (Array("s.bad key".utf8), "1", "s.bad key", "white space"),
        (Array("s..x".utf8), "1", "s..x", "a token is empty"),
        (Array("s.".utf8), "1", "s.", "a token is empty"),
        (Array("s.\"q\"".utf8), "1", "s.\"q\"", "a control character"),
        (Array("s.\n".utf8), "1", "s.\n", "a control character"),
        (Array("s.*".utf8), "1", "s.*", "*"),
        (Array("s.b\\c".utf8), "1", "s.b\\c", "or \\"),
        (Array("s.\u{A0}".utf8), "1", "s.\u{A0}", "white space"),
        (Array("s.caf".utf8) + [0xE9], "1", "s.caf\\xe9", "it is not UTF-8"),
        (Array("s.".utf8) + [0xC3, 0x28, 0xFF], "1", "s.\\xc3(\\xff", "it is not UTF-8"),
        ([], "1", "", "it is empty"),
        (Array("s.$lock".utf8), "1", "s.$lock", "begins with $"),
        (Array("$x".utf8), "1", "$x", "begins with $"),
        (Array("bridge.bridge.cursor".utf8), "{}", "bridge.bridge.cursor", "stay on their bus"),
        (
            Array(("s." + String(repeating: "k", count: 298)).utf8), "1",
            "s." + String(repeating: "k", count: 254) + "… (300 bytes)", "longer than 256 bytes"
        ),
        (Array("s.v.large".utf8), text(1_200_000), "s.v.large", "1200000 bytes"),
        (Array("s.v.past".utf8), text(BridgeLimits.valueBytesMax + 1), "s.v.past", "1000001 bytes"),
        (Array("s.v.deep".utf8), nested(Limits.depthMax + 1), "s.v.deep", "less nesting"),
        (Array("s.v.none".utf8), "", "s.v.none", "a value"),
        (Array("s.v.two".utf8), "1 2", "s.v.two", "nothing more"),
        (Array("s.v.half".utf8), #""\ud800""#, "s.v.half", "surrogate"),
    ]

    @Test("a key or a value that no bus can have is refused, counted and named", arguments: bad.indices)
    func refused(index: Int) async throws {
        let (key, value, name, why) = Self.bad[index]
        let a = try await host("a")
        try await a.untilUp()
        let raw = Data(Array(Self.prefix.utf8) + key)
        try await store.putRaw(raw, value)
        try await store.putRaw("s.good", "1")
        try await eventually("the rest goes on") { try await a.values() == ["s.good": "1"] }
        try await eventually("it is named") { try await refusals(a)[name]?.contains(why) == true }
        #expect(try await a.status()?["refused"]?.integer == 1)
        #expect(try await a.isUp())
        // A bridge that begins with it doesn't count it twice, and doesn't touch it.
        a.killBridge()
        try a.startBridge()
        try await eventually("it is named") { try await refusals(a)[name]?.contains(why) == true }
        let entry = try #require(try await store.find(raw).entry)
        #expect(entry.value ?? [] == Array(value.utf8))
        try await a.bus.publish("s.good", 2)
        try await eventually("it sends") { try await store.change(of: "s.good")?.value?.text == "2" }
        try await a.untilUp()
        try await store.deleteRaw(raw)
        try await eventually("it isn't named any more") { try await refusals(a).isEmpty }
        #expect(try await a.isUp())
    }

    @Test("a value that is deleted or mended in etcd is refused no longer, and comes")
    func mended() async throws {
        let a = try await host("a")
        try await a.bus.publish("s.x", "mine")
        try await eventually("it is sent") { try await a.status()?["sent"]?.integer == 1 }
        try await store.putRaw("s.x", "not json")
        try await eventually("it is named") { try await refusals(a).count == 1 }
        #expect(try await a.values() == ["s.x": "\"mine\""])
        // Neither the bridge that lives nor the next one puts the older value over it.
        a.killBridge()
        try a.startBridge()
        try await eventually("it is named") { try await refusals(a).count == 1 }
        try await a.bus.publish("s.y", 1)
        try await eventually("it sends") { try await store.change(of: "s.y") != nil }
        #expect(try await store.find(store.prefix.key("s.x")).entry?.value == Array("not json".utf8))
        try await store.putRaw("s.x", "7")
        try await eventually("it is there") { try await a.values()["s.x"] == "7" }
        try await eventually("nothing is named") { try await refusals(a).isEmpty }
        // A later write on the bus replaces what was refused.
        try await store.putRaw("s.x", "bad again")
        try await eventually("it is named") { try await refusals(a).count == 1 }
        try await a.bus.publish("s.x", 8)
        try await eventually("it is sent") { try await store.change(of: "s.x")?.value?.text == "8" }
        try await eventually("nothing is named") { try await refusals(a).isEmpty }
    }

    @Test("what the bus has at its limits comes to the other bus as it is")
    func limits() async throws {
        let (a, b) = (try await host("a"), try await host("b"))
        let values = [
            "s.deep": Self.nested(Limits.depthMax), "s.large": Self.text(BridgeLimits.valueBytesMax),
            "s." + String(repeating: "k", count: Limits.keyBytesMax - 2): "1",
        ]
        for (key, value) in values { try await a.bus.publish(key, JSON(value)) }
        try await eventually("they are there") { try await b.values() == values }
        let longer = try JSON(Self.text(BridgeLimits.valueBytesMax + 1))
        try await a.bus.publish("s.larger", longer)
        try await a.bus.publish("s.next", 1)
        try await eventually("what follows is there") { try await b.values()["s.next"] == "1" }
        #expect(try await store.change(of: "s.larger") == nil)
        #expect(a.words.contains("s.larger: etcd doesn't take it, because the value has 1000001 bytes"))
        try await eventually("it is counted") { try await a.status()?["refused"]?.integer == 1 }
    }

    @Test("a write that lost is kept, however large it and the winner are", arguments: [600_000, 999_000])
    func largeConflict(bytes: Int) async throws {
        let (mine, theirs) = (Self.text(bytes), Self.text(bytes + 1))
        try await store.putRaw("s.x", theirs)
        let a = try await BridgedHost(
            "a", etcd: etcd.clients, prefix: Self.prefix, ["--share", "s.**"], isBridged: false
        )
        try await a.bus.publish("s.x", JSON(mine))
        try a.startBridge()
        try await eventually("etcd's value is there") { try await a.values()["s.x"] == theirs }
        let conflicts = try await a.conflicts()
        #expect(conflicts.map(\.key) == ["s.x"] && conflicts.first?.value == mine)
        try await a.untilUp()
    }

    @Test("an envelope of any size and depth has a host, or is a value")
    func envelopes() throws {
        for (bytes, isHost) in [(BridgeLimits.hostBytesMax, true), (BridgeLimits.hostBytesMax + 1, false)] {
            let host = String(repeating: "h", count: bytes)
            let text = "{\"host\":\"\(host)\",\"id\":\"b.1\",\"value\":1}"
            let envelope = try Envelope(reading: Array(text.utf8))
            #expect(envelope.host == (isHost ? host : nil))
            #expect(envelope.value.text == (isHost ? "1" : text))
        }
        let by = String(repeating: "b", count: 1_000_000)
        let envelope = Envelope(host: "h", by: by, when: nil, id: nil, value: .null)
        let origin = EtcdChange(key: "s.x", revision: 1, content: .put(envelope)).origin
        #expect(origin == String(repeating: "b", count: Limits.originBytesMax))
    }

    @Test("as many refused keys are remembered as may be, and all are counted")
    func remembered() {
        var refusals = RefusedKeys()
        let count = BridgeLimits.refusalsMax + 1
        for round in 0..<2 {
            for number in 1...count {
                let change = EtcdChange(key: "k \(number)", revision: number, content: .refused(.reserved))
                // Only the one that wasn't remembered counts again.
                #expect((refusals.note(.refuse, change) != nil) == (round == 0 || number == count))
            }
        }
        #expect(refusals.count == count + 1)
        #expect(refusals.presentCount == BridgeLimits.refusalsMax)
        #expect(refusals.newest.count == BridgeLimits.namedMax)
        #expect(refusals.newest.first?.revision == BridgeLimits.refusalsMax)
        refusals.meet([EtcdChange(key: "k 7", revision: 9, content: .refused(.reserved))])
        #expect(refusals.newest.map(\.key) == ["k 7"])
    }

    @Test("a name has as many bytes as it may, and a longer one is cut", arguments: [0, 1])
    func names(more: Int) {
        let key = Array(repeating: UInt8(ascii: "k"), count: BridgeLimits.namedBytesMax + more)
        let whole = String(repeating: "k", count: BridgeLimits.namedBytesMax)
        #expect(RefusedKey.name(key) == (more == 0 ? whole : "\(whole)… (257 bytes)"))
    }

    @Test("what comes in parts, after a long time away, comes whole and in order")
    func parts() async throws {
        let a = try await host("a")
        try await a.untilUp()
        try await a.bus.publish("s.first", 1)
        try await eventually("its cursor is kept") {
            try await a.bus.entry("bridge.bridge.cursor")?.value["settled"]?.integer ?? 0 > 0
        }
        a.killBridge()
        // More than one answer may have; the long suite has more than may wait of a watch.
        let count = LongSuite.count(90, quick: 24)
        for number in 0..<count { try await store.putRaw("s.k\(number)", Self.text(900_000 + number)) }
        try await store.putRaw("s.last", "1")
        try a.startBridge()
        try await eventually("the last one is there", seconds: 600) {
            try await a.bus.entry("s.last") != nil
        }
        #expect(try await a.bus.keys("s.*").count == count + 2)
        // The same from the range.
        let b = try await host("b")
        try await eventually("all are there", seconds: 600) {
            try await b.bus.keys("s.*").count == count + 2
        }
        #expect(try await b.bus.entry("s.k7")?.value.bytes.count == 900_007)
    }
}
