import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

/// Random writes, and an observer with a filter that stops reading and continues. What it got is applied
/// as SPEC.md says, and compared with what another observer got of every write.
@Suite("Applying what was sent gives the value", .computing)
struct FilterHistoryTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let options: String
        var testDescription: String { options }
    }

    static let cases = [
        #""diff":true"#,
        #""diff":true,"delivery":"all""#,
        #""diff":true,"initial":false"#,
        #""diff":true,"initial":false,"delivery":"all""#,
        #""diff":true,"where":{"/in":{"==":1}}"#,
        #""diff":true,"where":{"/in":{"==":1}},"delivery":"all","initial":false"#,
        #""where":{"/in":{"==":1}},"old":true"#,
        #""diff":true,"old":true,"every":5"#,
    ].map(Case.init)

    @Test("always", arguments: cases)
    func always(_ sample: Case) {
        let histories = (1...3).map { FilterHistory(options: sample.options, seed: $0, isLarge: $0 == 1) }
        for history in histories { history.play() }
        if sample.options.contains("diff") { #expect(histories.contains { $0.patches > 5 }) }
        if sample.options.contains("all") { #expect(histories[0].gaps > 0) }
    }
}

/// One history.
private final class FilterHistory {
    private let hub = TestHub()
    private let options: String
    /// Whether values are large, so that more has to wait than there is room for.
    private let isLarge: Bool
    private var random: SplitMix
    private let observer: Int
    private let mirror: Int
    private let writer: Int
    /// The values of all writes, by key and revision, as the other observer got them.
    private var values: [String: [Int: String]] = [:]
    private var latest: [String: String] = [:]
    /// The values that follow from what the observer got.
    private var known: [String: String] = [:]
    private(set) var (patches, gaps) = (0, 0)
    private var milliseconds: UInt64 = 0

    private var hasConditions: Bool { options.contains("where") }
    private var isComplete: Bool { !options.contains(#""initial":false"#) }

    init(options: String, seed: UInt64, isLarge: Bool) {
        self.options = options
        self.isLarge = isLarge
        random = SplitMix(seed: seed)
        observer = hub.client()
        mirror = hub.client()
        writer = hub.client()
    }

    func play() {
        hub.send("subscribe **", from: mirror)
        for _ in 0..<10 { write() }
        hub.send(#"{"op":"subscribe","key":"**",\#(options)}"#, from: observer)
        for _ in 0..<400 { act() }
        catchUp()
        compare()
    }

    private func act() {
        switch random.next() % 40 {
        case 0...25: write()
        case 26: hub.stopReading(observer)
        case 27...33: applyAll(hub.readOnce(observer))
        case 34: hub.send("pause 1", from: observer)
        case 35: hub.send("step 1 2", from: observer)
        case 36: hub.send("resume 1", from: observer)
        case 37: pass(3)
        default:
            if random.next() % 4 == 0 { catchUp(); compare() }
        }
    }

    private func pass(_ time: UInt64) {
        milliseconds += time
        hub.expireAll(after: milliseconds)
    }

    private func catchUp() {
        hub.send("resume 1", from: observer)
        for _ in 0..<4 {
            pass(20)
            applyAll(hub.read(observer))
        }
    }

    private func write() {
        let key = "k\(random.next() % 3)"
        switch random.next() % 12 {
        case 0: hub.send("delete \(key)", from: writer)
        case 1: hub.send("publish \(key) \(random.next() % 9)", from: writer)
        case 2...4: hub.send("publish \(key) \(object())", from: writer)
        case 5:
            hub.send(
                #"{"op":"batch","writes":[{"op":"publish","key":"k0","value":\#(object())},"#
                    + #"{"op":"patch","key":"k1","value":\#(object())}]}"#,
                from: writer
            )
        case 6: hub.send("emit \(key) \(object())", from: writer)
        default: hub.send("patch \(key) \(object(mayRemove: true))", from: writer)
        }
        _ = hub.read(writer)
        for line in hub.read(mirror) { see(line) }
    }

    private func object(mayRemove: Bool = false) -> String {
        var members: [String] = []
        if random.next() % 3 == 0 { members.append(#""in":\#(random.next() % 2)"#) }
        for name in ["a", "b", "c"] where random.next() % 2 == 0 {
            switch random.next() % 6 {
            case 0: members.append(mayRemove ? #""\#(name)":null"# : #""\#(name)":[null]"#)
            case 1: members.append(#""\#(name)":{"x":\#(random.next() % 3),"y":[1,{"z":2.50}]}"#)
            case 2: members.append(#""\#(name)":{"x":1e\#(random.next() % 3)}"#)
            default: members.append(#""\#(name)":\#(random.next() % 5)"#)
            }
        }
        let padding = isLarge && random.next() % 2 == 0 ? 300_000 : 40
        if random.next() % 2 == 0 { members.append(#""pad":"\#(String.filler("p", padding))""#) }
        return "{\(members.joined(separator: ","))}"
    }

    private func see(_ line: String) {
        guard let key = text("key", in: line), let revision = number("revision", in: line) else { return }
        if line.hasPrefix(#"{"event":"update""#) {
            latest[key] = json("value", in: line)
            values[key, default: [:]][revision] = latest[key]
        } else if line.hasPrefix(#"{"event":"delete""#) {
            latest[key] = nil
        }
    }

    private func applyAll(_ lines: [String]) {
        for line in lines {
            if line.hasPrefix(#"{"event":"lagged""#) { gaps += 1 }
            guard let key = text("key", in: line), let revision = number("revision", in: line) else {
                continue
            }
            if line.hasPrefix(#"{"event":"delete""#) || line.hasPrefix(#"{"event":"leave""#) {
                known[key] = nil
            } else if line.hasPrefix(#"{"event":"update""#) {
                apply(line, key)
                if end(of: #""initial":true"#, in: line) != nil { continue }
                #expect(areEqual(known[key], values[key]?[revision]), "\(line.prefix(200))")
            }
        }
    }

    private func apply(_ line: String, _ key: String) {
        guard let patch = json("patch", in: line) else { return known[key] = json("value", in: line) }
        patches += 1
        var merged = ByteBuffer()
        withBytes(patch) { patch in
            withBytes(known[key] ?? "absent") { MergePatch.apply(patch, to: $0, into: &merged) }
        }
        #expect(known[key] != nil)
        known[key] = String(merged.bytes)
    }

    private func compare() {
        // After a gap, only what was sent later is certain. A client would read the rest with `get`.
        if gaps > 0 { return }
        for key in ["k0", "k1", "k2"] {
            let value = latest[key].flatMap { value in
                !hasConditions || end(of: #""in":1"#, in: value) != nil ? value : nil
            }
            if known[key] == nil, !isComplete { continue }
            #expect(areEqual(known[key], value), "\(key)")
        }
    }

    private func areEqual(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == right }
        var comparer = JSONComparer()
        return withBytes(left) { left in withBytes(right) { comparer.areEqual(left, $0, .spelling) } }
    }
}

/// The JSON of a member that comes before `old` or `by`.
private func json(_ name: String, in line: String) -> String? {
    guard let start = end(of: "\"\(name)\":", in: line) else { return nil }
    let rest = String(line[start...])
    for next in [#","old":"#, ##","by":"#"##] {
        guard let end = end(of: next, in: rest) else { continue }
        return String(rest.utf8.prefix(upTo: rest.utf8.index(end, offsetBy: -next.utf8.count)))
    }
    return nil
}

private func text(_ name: String, in line: String) -> String? {
    guard let start = end(of: "\"\(name)\":\"", in: line) else { return nil }
    return String(line[start...].prefix { $0 != "\"" })
}
