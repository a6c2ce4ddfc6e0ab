@testable import PlugboardBroker
import PlugboardWire
import TestSupport
import Testing

@Suite("What has to wait keeps its order, and waits no longer than it has to", .computing)
struct WaitingOrderTests {
    private let hub = TestHub()
    private let (observer, writer): (Int, Int)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    private static let batch = """
        {"op":"batch","writes":[{"op":"emit","key":"job","value":"started"},\
        {"op":"publish","key":"x.b","value":1},{"op":"emit","key":"job","value":"half"},\
        {"op":"publish","key":"x.a","value":2},{"op":"emit","key":"job","value":"finished"}]}
        """
    private static let order = [#""started""#, "1", #""half""#, "2", #""finished""#]

    private func subscribe(_ options: String = "", as client: Int? = nil) {
        hub.send(#"{"op":"subscribe","key":"**","initial":false\#(options)}"#, from: client ?? observer)
        _ = hub.read(client ?? observer)
    }

    /// The values that the observer gets now.
    private func values() -> [String] {
        hub.read(observer).compactMap { line in
            line.firstRange(of: #""value":"#).map { String(line[$0.upperBound...].prefix { $0 != "," }) }
        }
    }

    @Test("a key that is written once more comes behind the emits before that")
    func renewed() {
        subscribe()
        hub.send("pause 1\npublish x.b 0", from: observer)
        hub.send(Self.batch, from: writer)
        hub.send("resume 1", from: observer)
        #expect(values() == Self.order)
    }

    /// The events that the observer gets now, each with its revision.
    private func events() -> [String] {
        hub.read(observer).compactMap { line in
            line.firstMatch(of: #/"event":"(\w+)".*?"revision":(\d+)/#).map { "\($0.1) \($0.2)" }
        }
    }

    /// The observer waits in the middle of its snapshot for the phase of its last key, which is at revision 3.
    private func waitInSnapshot() {
        let price = hub.client()
        hub.send(#"{"op":"subscribe","key":"k","phase":1,"ack":true}"#, from: price)
        hub.send("publish a 1\npublish k 1", from: writer)
        hub.send("ack 1 2", from: price)
        hub.stopReading(observer)
        hub.send("subscribe **", from: observer)
        hub.send("publish k 2", from: writer)
        #expect(events() == ["update 1"])
    }

    @Test(
        "synced, in the middle of a turn or a batch, doesn't have the revision of the events that follow",
        arguments: [
            "delete k\npublish m 1\npublish n 1",
            #"{"op":"batch","writes":[{"op":"delete","key":"k"},{"op":"publish","key":"m","value":1}]}"#,
            "delete k\nemit e 1\npublish m 1",
        ]
    )
    func syncedBetween(writes: String) throws {
        waitInSnapshot()
        hub.send(writes, from: writer)
        let told = events()
        let synced = try #require(told.firstIndex { $0.hasPrefix("synced") })
        let place = try #require(Int(told[synced].dropFirst("synced ".count)))
        #expect(place >= 2, "it is that of the reply, or later")
        let later = told[(synced + 1)...].compactMap { Int($0.drop { $0 != " " }.dropFirst()) }
        #expect(!later.isEmpty && later.allSatisfy { $0 > place }, "\(told)")
    }

    @Test("synced has the revision of the reply where only older values have come, and newer ones wait")
    func syncedAtStart() {
        let price = hub.client()
        subscribe(#","phase":1,"ack":true"#, as: price)
        hub.send("publish a 1\npublish b 1\ndelete b", from: writer)
        hub.send("ack 1 3", from: price)
        hub.stopReading(observer)
        hub.send("subscribe **", from: observer)
        hub.send("publish k 1", from: writer)
        #expect(events() == ["update 1", "synced 3"])
        hub.send("ack 1 4", from: price)
        #expect(events() == ["update 4"])
    }

    @Test("every: a key first written during a pause is told when that ends")
    func firstInPause() {
        subscribe(#","every":1000"#)
        hub.send("publish a 1", from: writer)
        #expect(values() == ["1"])
        hub.send("pause 1", from: observer)
        hub.send("publish b 2\nemit e 3\npublish a 4\npublish c 5", from: writer)
        hub.expireAll(after: 100)
        hub.send("resume 1", from: observer)
        // A key that was sent lately waits, and so does everything after it.
        #expect(values() == ["2", "3"])
        hub.expireAll(after: 999)
        #expect(values().isEmpty)
        hub.expireAll(after: 1_101)
        #expect(values() == ["4", "5"])
    }

    @Test("every: so is one that was written while the observer didn't read")
    func firstWhileSlow() {
        subscribe(#","every":1000"#)
        hub.send("publish a 1", from: writer)
        #expect(values() == ["1"])
        hub.stopReading(observer)
        hub.send("publish b 2", from: writer)
        #expect(values() == ["2"])
    }

    @Test("every: what was told before a long pause was not told lately after it")
    func longPause() {
        subscribe(#","every":1000"#)
        hub.send("publish a 1", from: writer)
        hub.send("pause 1", from: observer)
        #expect(values() == ["1"])
        hub.expireAll(after: 10_000)
        #expect(hub.deadlineCount == 0)
        hub.send("resume 1", from: observer)
        hub.send("publish b 2\npublish a 3", from: writer)
        #expect(values() == ["2", "3"])
    }

    @Test("every: a pause does not let a key pass twice in its time")
    func shortPause() {
        subscribe(#","every":1000"#)
        hub.send("publish a 1", from: writer)
        hub.expireAll(after: 900)
        hub.send("publish b 2", from: writer)
        #expect(values() == ["1", "2"])
        hub.send("pause 1", from: observer)
        hub.expireAll(after: 1_100)
        hub.send("resume 1", from: observer)
        hub.send("publish b 3", from: writer)
        #expect(values().isEmpty)
        hub.expireAll(after: 2_200)
        #expect(values() == ["3"])
    }

    @Test("every: what waits behind a key that is written again folds nothing of another subscription")
    func heldBehind() {
        subscribe(#","every":1000"#)
        hub.send("publish a 1", from: writer)
        hub.send(#"{"op":"subscribe","key":"c","initial":false}"#, from: observer)
        _ = hub.read(observer)
        hub.send("publish a 2\npublish b 3\npublish a 4\npublish c 5\npublish c 6", from: writer)
        #expect(values() == ["3", "5", "6"])
        hub.expireAll(after: 999)
        #expect(values().isEmpty)
        hub.expireAll(after: 1_001)
        #expect(values() == ["4", "6"])
    }

    @Test("phases: what waits behind a key that is written again folds nothing of another subscription")
    func gatedBehind() {
        let guardian = hub.client()
        subscribe(#","phase":2"#)
        hub.send(#"{"op":"subscribe","key":"a","ack":true,"phase":1,"initial":false}"#, from: guardian)
        hub.send(#"{"op":"subscribe","key":"c","initial":false}"#, from: observer)
        _ = hub.read(observer)
        hub.send("publish a 2\npublish b 3\npublish a 4\npublish c 5\npublish c 6", from: writer)
        #expect(values() == ["3", "5", "6"])
        hub.send(#"{"op":"ack","sub":1,"revision":5}"#, from: guardian)
        #expect(values() == ["4", "6"])
    }

    @Test("every, with all: what is held comes together when the time is over")
    func heldLines() {
        subscribe(#","every":1000,"delivery":"all""#)
        hub.send("publish a 1\npublish a 2\nemit a 3\npublish b 4", from: writer)
        #expect(values() == ["1"])
        hub.expireAll(after: 1_001)
        #expect(values() == ["2", "3", "4"])
    }
}
