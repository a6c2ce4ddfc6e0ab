@testable import PlugboardBroker
import PlugboardWire
import TestSupport
import Testing

@Suite("Pausing, stepping and throttling", .computing)
struct ControlTests {
    private let hub = TestHub()
    private let (observer, writer): (Int, Int)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    private func subscribe(_ options: String = "") {
        hub.send(#"{"op":"subscribe","key":"**"\#(options)}"#, from: observer)
        _ = hub.read(observer)
    }

    /// The keys and values of lines, and how many were skipped before them.
    private func told(_ lines: [String]) -> [String] {
        lines.map { line in
            let key = line.split(separator: #""key":""#).last?.prefix { $0 != "\"" } ?? ""
            let skipped = number("skipped", in: line).map { "+\($0)" } ?? ""
            return "\(key)=\(number("value", in: line) ?? 0)\(skipped)"
        }
    }

    @Test("a client of another user can't pause it")
    func stranger() {
        subscribe()
        let stranger = hub.client(user: 4_711)
        hub.send(#"{"op":"pause","sub":1,"client":1}"#, from: stranger)
        #expect(hub.read(stranger)[0].hasPrefix(#"{"error":"forbidden""#))
    }

    @Test("past its bound, all drops the newest and says which")
    func allOverflows() {
        subscribe(#","delivery":"all""#)
        hub.send("pause 1", from: observer)
        _ = hub.read(observer)
        let value = "\"" + String(repeating: "v", count: 1_000) + "\""
        for _ in 0..<2_000 { hub.send("publish a \(value)", from: writer) }
        #expect(hub.waitingBytes(observer) <= Limits.queueBytesMax)
        hub.send("resume 1", from: observer)
        let lines = Array(hub.read(observer).dropFirst())
        let dropped = lines.last.flatMap { number("dropped", in: $0) } ?? 0
        #expect(dropped > 0)
        #expect(lines.count - 1 + dropped == 2_000)
        #expect(number("first", in: lines.last ?? "") == lines.count)
        #expect(number("last", in: lines.last ?? "") == 2_000)
        hub.send("publish a 1", from: writer)
        #expect(told(hub.read(observer)) == ["a=1"])
    }

    @Test("every tells a key once in its time, the newest, and the last always")
    func throttled() {
        subscribe(#","every":1000"#)
        hub.send("publish a 1\npublish b 1", from: writer)
        #expect(told(hub.read(observer)) == ["a=1", "b=1"])
        hub.send("publish a 2\npublish a 3\npublish c 1", from: writer)
        // What comes after a key that waits has to wait, too, so the order is kept.
        #expect(hub.read(observer).isEmpty)
        hub.expireAll(after: 500)
        #expect(hub.read(observer).isEmpty)
        hub.expireAll(after: 1_001)
        #expect(told(hub.read(observer)) == ["a=3+1", "c=1"])
        hub.send("publish d 1\npublish a 4", from: writer)
        #expect(told(hub.read(observer)) == ["d=1"])
        hub.expireAll(after: 2_100)
        #expect(told(hub.read(observer)) == ["a=4"])
        for step in 1...4 { hub.expireAll(after: 2_100 + UInt64(step) * 1_100) }
        #expect(hub.deadlineCount == 0)
        hub.send("unsubscribe 1", from: observer)
        #expect(hub.deadlineCount == 0)
    }
}
