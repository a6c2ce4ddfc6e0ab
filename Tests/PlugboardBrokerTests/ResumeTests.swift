import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Observers that were away", .computing)
struct ResumeTests {
    private let hub = TestHub()
    private let (observer, writer): (Int, Int)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    private func write(_ lines: String) {
        hub.send(lines, from: writer)
    }

    private func subscribe(since: Int, _ options: String = "", key: String = "*") -> [String] {
        hub.send(#"{"op":"subscribe","key":"\#(key)","since":\#(since)\#(options)}"#, from: observer)
        return hub.read(observer)
    }

    private static func reply(_ revision: Int, resumed: Bool) -> String {
        #"{"ok":"subscribe","sub":1,"revision":\#(revision),"resumed":\#(resumed)}"#
    }

    private static func event(_ event: String, _ key: String, _ revision: Int, _ rest: String) -> String {
        ##"{"event":"\##(event)","sub":1,"key":"\##(key)","revision":\##(revision),\##(rest)"##
    }

    private static func synced(_ revision: Int) -> String {
        #"{"event":"synced","sub":1,"revision":\#(revision)}"#
    }

    @Test(
        "are resumed after as many writes as the history remembers, and not after one more",
        arguments: [0, 1],
        [0, 2]
    )
    func reach(excess: Int, before: Int) {
        let count = before + excess + History.writesMax
        let lines = (1...count).map { "publish k.\($0 % 3) 1" }
        for start in stride(from: 0, to: lines.count, by: 1_000) {
            write(lines[start..<min(start + 1_000, lines.count)].joined(separator: "\n"))
        }
        let told = subscribe(since: before, key: "k.*")
        #expect(told.first == Self.reply(count, resumed: excess == 0))
        #expect(told.count == 5)
        #expect(told.contains { $0.contains("initial") } == (excess == 1))
    }

    @Test("are resumed also where the history goes back to the middle of a batch, or to an emit")
    func reachIntoBatch() {
        let batch = ["k.a", "k.b"].map { #"{"op":"publish","key":"\#($0)","value":1}"# }
        write(#"{"op":"batch","writes":[\#(batch.joined(separator: ","))]}"#)
        write("subscribe bell\nemit bell 1")
        let writes = (1..<History.writesMax).map { "publish k.\($0 % 3) 1" }
        for start in stride(from: 0, to: writes.count, by: 1_000) {
            write(writes[start..<min(start + 1_000, writes.count)].joined(separator: "\n"))
        }
        // Of the two writes and the emit of revision 1, the emit is remembered.
        #expect(subscribe(since: 1, key: "k.*").first == Self.reply(History.writesMax, resumed: true))
        hub.send("unsubscribe 1", from: observer)
        _ = hub.read(observer)
        #expect(subscribe(since: 0, key: "k.*").first == Self.reply(History.writesMax, resumed: false))
    }

    @Test("are told the newest of each key that was dropped, where they resume before lagged")
    func afterLagged() throws {
        let request = #""op":"subscribe","key":"*","delivery":"all""#
        hub.send("publish gone 1\npublish same 1", from: writer)
        hub.send("{\(request)}", from: observer)
        _ = hub.read(observer)
        hub.stopReading(observer)
        let filler = String(repeating: "e", count: 100_000)
        for number in 1...20 { hub.send("publish a \"\(number)\(filler)\"", from: writer) }
        hub.send("publish b 1\npublish b 2\ndelete gone", from: writer)
        let lagged = try #require(hub.read(observer).last)
        let first = try #require(number("first", in: lagged))
        hub.send("unsubscribe 1\n{\(request),\"since\":\(first - 1)}", from: observer)
        let told = hub.read(observer).dropFirst().map { $0.count > 1_000 ? "large" : $0 }
        #expect(
            told == [
                Self.reply(25, resumed: true), "large",
                Self.event("update", "b", 24, ##""value":2,"by":"#2","skipped":1}"##),
                Self.event("delete", "gone", 25, ##""by":"#2"}"##), Self.synced(25),
            ]
        )
    }
}
