import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

/// What the bus holds, `dump` writes and `load` restores, and so do `record` and `replay`, always.
@Suite("values go from one bus to another", .someAtATime)
final class RoundTripTests: BrokerSuite {
    /// Sends requests, and returns when the broker has done them. Each must succeed.
    private func send(_ lines: String...) throws {
        let peer = try LinePeer(path: folder.socket)
        for line in lines { try peer.send(line + "\n") }
        try peer.send(#"{"op":"sync","id":1}"# + "\n")
        while true {
            let line = try peer.text()
            if line.hasPrefix(#"{"ok":"sync""#) { return }
            #expect(!line.hasPrefix(#"{"error""#), "\(line.prefix(200))")
        }
    }

    /// All values by their keys, with what ends them.
    private func values(_ dump: Finished) throws -> [String: String] {
        #expect(dump.end == .exited(0), "\(dump.messages)")
        var values: [String: String] = [:]
        for line in dump.lines {
            let object = try JSONObject(parsing: Array(line.utf8)[...])
            let end = object["ttl"] == nil ? "" : " with a ttl"
            values[try #require(object["key"]?.string)] = try #require(object["value"]).text + end
        }
        return values
    }

    /// Whether two buses have the same values. Long values aren't printed.
    private func compare(_ copied: [String: String], _ values: [String: String]) {
        #expect(copied.keys.sorted() == values.keys.sorted())
        for (key, value) in values {
            #expect(copied[key] == value, "\(key.prefix(20)): \(value.utf8.count) bytes")
        }
    }

    /// Dumps, loads, and compares. Returns what `load` said.
    @discardableResult
    private func copyByDump() throws -> Finished {
        let dump = try run("dump")
        let copy = try BrokerSuite()
        let loaded = try copy.run("load", try folder.write("bus.ndjson", dump.output))
        #expect(loaded.end == .exited(0), "\(loaded.messages.prefix(1_000))")
        compare(try values(try copy.run("dump")), try values(dump))
        return loaded
    }

    private func copyByReplay() throws {
        let recorder = try Run(["record", "**"], in: folder)
        try eventually("synced") { recorder.output.contains(#""event":"synced""#) }
        recorder.signal(SIGINT)
        let session = try folder.write("session.ndjson", try recorder.finished().output)
        let copy = try BrokerSuite()
        let played = try copy.run("replay", session, "--speed", "max")
        #expect(played.end == .exited(0), "\(played.messages.prefix(1_000))")
        let ends = { (values: [String: String]) in values.mapValues { $0.replacing(" with a ttl", with: "") }
        }
        compare(ends(try values(try copy.run("dump"))), ends(try values(try run("dump"))))
    }

    private static func text(_ count: Int, _ letter: Character = "x") -> String {
        String(repeating: letter, count: count)
    }

    /// Makes an object of `bytes` bytes, by a publish and a patch.
    private func make(_ key: String, _ bytes: Int) throws {
        try send(
            #"{"op":"publish","key":"\#(key)","value":{"a":"\#(Self.text(600_000))"}}"#,
            #"{"op":"patch","key":"\#(key)","value":{"b":"\#(Self.text(bytes - 600_015))"}}"#
        )
    }

    @Test(
        "a batch of patches whose values are together too long for a line is loaded in parts, and load says so"
    )
    func largeBatch() throws {
        let keys = ["a", "b", "c"]
        for key in keys { try send(#"publish \#(key) {"t":"\#(Self.text(500_000))"}"#) }
        let patches = keys.map { #"{"op":"patch","key":"\#($0)","value":{"n":1}}"# }
        try send(#"{"op":"batch","writes":[\#(patches.joined(separator: ","))]}"#)
        let loaded = try copyByDump()
        #expect(loaded.output == "wrote 3 values in 2 writes, revision 2\n")
        #expect(
            loaded.messages.hasSuffix(
                ":1: the batch is too long for one line, and so is written in 2 parts\n"
            )
        )
        try copyByReplay()
    }

    @Test("the longest value is copied, whatever its key and what made it")
    func longestValues() throws {
        let most = Limits.valueBytesMax
        try send(#"publish a "\#(Self.text(most - 2))""#)
        try make("m", most)
        try make(Self.text(Limits.keyBytesMax, "k"), most)
        try send(
            #"publish sum { "n": 9, "t": "\#(Self.text(most - 20))" }"#,
            #"{"op":"add","key":"sum","value":1,"field":"/n","ttl":\#(Limits.integerMax / 1_000)}"#
        )
        #expect(try copyByDump().messages.isEmpty)
        try copyByReplay()
        // Two more ways that a file can go: its lines are published, and those of get.
        for words in [["dump"], ["get", "**"]] {
            let lines = try Run(words, in: folder).finished().output
            let copy = try BrokerSuite()
            let published = try copy.run("publish", "--from", try folder.write("lines", lines))
            #expect(
                published.output == "published 4 values, revision 4\n", "\(published.messages.prefix(500))"
            )
            compare(
                try values(try copy.run("dump")).mapValues { $0.replacing(" with a ttl", with: "") },
                try values(try run("dump")).mapValues { $0.replacing(" with a ttl", with: "") }
            )
        }
    }

    @Test("batches that just fit one line are one write, and with one byte more they are two")
    func edges() throws {
        let envelope = #"{"op":"batch","writes":[,]}"#.utf8.count
        let write = #"{"op":"publish","key":"a","value":""}"#.utf8.count
        // What a batch's line has around its writes is counted as 64 bytes.
        let room = Limits.lineBytesMax - 64 - 2 * (write + 1)
        for (rest, writes) in [(0, 1), (1, 2)] {
            let line = { (key: String, count: Int) in
                #"{"key":"\#(key)","revision":1,"value":"\#(Self.text(count))","x-batch":2}"# + "\n"
            }
            let file = line("a", 500_000) + line("b", room - 500_000 + rest)
            let loaded = try run("load", try folder.write("two", file))
            #expect(
                loaded.output.hasPrefix("wrote 2 values in \(writes) write"), "\(loaded.messages.prefix(500))"
            )
        }
        #expect(envelope < 64)
    }

    @Test("if the bus refuses a part of a batch, its line is named and the other parts are written")
    func refusedPart() throws {
        let line = { (key: String) in
            #"{"key":"\#(key)","revision":1,"value":"\#(Self.text(600_000))","x-batch":3}"# + "\n"
        }
        let file = try folder.write(
            "parts",
            line("a") + line("$b") + line("c") + #"{"key":"d","value":1}"# + "\n..\n"
        )
        let loaded = try run("load", file)
        #expect(loaded.end == .exited(1))
        #expect(loaded.messages.contains("parts:2: forbidden: "))
        #expect(loaded.messages.contains("parts:5: not JSON"))
        #expect(loaded.output.hasPrefix("wrote 3 values in 3 writes"))
        #expect(try run("load", file, "--json").output.hasSuffix(#","parted":1}"# + "\n"))
        #expect(try run("keys").lines == ["a", "c", "d"])
    }

    @Test("random states near every limit are restored", arguments: [1, 2, 3])
    func randomStates(seed: Int) throws {
        var state = RandomState(seed: seed)
        for _ in 0..<24 { try send(state.next()) }
        try copyByDump()
        try copyByReplay()
    }
}

/// Requests that make values at the limits of a bus, or just below them.
private struct RandomState {
    private var random: SeededRandom
    private var keys: [String] = []
    /// How many of the longest values there may be, so that a test doesn't take long.
    private var longLeft = 5

    init(seed: Int) { random = SeededRandom(seed) }

    mutating func next() -> String {
        switch random.below(6) {
        case 0: return write("publish", value(), more: end())
        case 1: return Self.batch((0..<random.below(4)).map { _ in write("publish", short(), more: "") })
        case 2: return Self.batch((0..<near(Limits.batchWritesMax)).map { write("add", "1", of: "n.\($0)") })
        case 3: return Self.batch(someKeys().map { write("patch", #"{"p":\#(random.below(9))}"#, of: $0) })
        case 4: return write("patch", #"{"long":"\#(text(random.below(9_000)))"}"#, of: "p")
        default: return write("publish", deep(), more: end())
        }
    }

    private static func batch(_ writes: [String]) -> String {
        #"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#
    }

    private mutating func write(_ operation: String, _ value: String, more: String) -> String {
        write(operation, value, of: newKey(), more: more)
    }

    private func write(_ operation: String, _ value: String, of key: String, more: String = "") -> String {
        #"{"op":"\#(operation)","key":"\#(key)","value":\#(value)\#(more)}"#
    }

    private mutating func near(_ limit: Int) -> Int { limit - random.below(3) }

    /// A number for each key, so that no two are the same, and letters up to the limit.
    private mutating func newKey() -> String {
        let start = "k\(keys.count)"
        let key = random.oneIn(2) ? start : start + text(near(Limits.keyBytesMax) - start.utf8.count, "é")
        keys.append(key)
        return key
    }

    private mutating func someKeys() -> [String] {
        Array(Set((0..<(1 + random.below(3))).compactMap { _ in keys.randomElement(using: &random) }))
            .sorted()
    }

    /// About as many bytes of these letters, never more.
    private func text(_ bytes: Int, _ letter: Character = "x") -> String {
        String(repeating: letter, count: max(0, bytes / letter.utf8.count))
    }

    private mutating func short() -> String {
        let spellings = ["1.50e+3", #""\u00e9\ud83d\ude00 \/""#, #"{ "a":1, "a" : 2 }"#, "null", "-0", "[ ]"]
        return spellings.randomElement(using: &random) ?? "null"
    }

    private mutating func value() -> String {
        guard longLeft > 0, random.oneIn(2) else { return short() }
        longLeft -= 1
        // A patch can still add a member of a few bytes.
        return #"{"a": "\#(text(near(Limits.valueBytesMax) - 20))"}"#
    }

    private mutating func deep() -> String {
        let depth = near(Limits.depthMax)
        return String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    private mutating func end() -> String {
        let ends = [
            "", #","ttl":900000000"#, #","cause":\#(Limits.integerMax)"#, #","origin":"\#(text(128))""#,
        ]
        return ends.randomElement(using: &random) ?? ""
    }
}
