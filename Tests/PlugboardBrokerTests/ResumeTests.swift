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

    @Test("are told the newest of each key that changed, and what is gone, in order, and then live events")
    func missed() {
        write("publish a 1\npublish b 1\npublish c 1\npublish a 2")
        write(#"{"op":"delete","key":"b","cause":4}"# + "\npublish a 3\npublish x.y 1\npublish d 1")
        #expect(
            subscribe(since: 3, #","epoch":"\#(hub.epoch)""#) == [
                Self.reply(8, resumed: true),
                Self.event("delete", "b", 5, ##""by":"#2","cause":4}"##),
                Self.event("update", "a", 6, ##""value":3,"by":"#2","skipped":1}"##),
                Self.event("update", "d", 8, ##""value":1,"by":"#2"}"##),
                Self.synced(8),
            ]
        )
        write("publish c 2")
        #expect(hub.read(observer) == [Self.event("update", "c", 9, ##""value":2,"by":"#2"}"##)])
        #expect(!hub.hasCatchup(observer))
    }

    @Test("are told nothing twice where they missed nothing")
    func missedNothing() {
        write("publish a 1")
        #expect(subscribe(since: 1) == [Self.reply(1, resumed: true), Self.synced(1)])
    }

    @Test(
        "are told everything anew, and what is gone, where what they missed isn't known",
        arguments: [(1, #","epoch":"other""#), (5, ""), (Int(Limits.integerMax), "")]
    )
    func unknown(since: Int, options: String) {
        write("publish a 1\npublish b 1\ndelete b\npublish c 1")
        #expect(
            subscribe(since: since, options) == [
                Self.reply(4, resumed: false),
                Self.event("update", "a", 1, ##""value":1,"by":"#2","initial":true,"live":true}"##),
                Self.event("delete", "b", 3, ##""by":"#2"}"##),
                Self.event("update", "c", 4, ##""value":1,"by":"#2","initial":true,"live":true}"##),
                Self.synced(4),
            ]
        )
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

    @Test("are told what an earlier phase held when they went, though sync had answered with its revision")
    func heldByPhase() {
        let stranger = hub.client()
        hub.send(#"{"op":"subscribe","key":"late","phase":1,"ack":true,"initial":false}"#, from: stranger)
        hub.send("subscribe *", from: observer)
        write((1...5).map { "publish k\($0) \($0)" }.joined(separator: "\n"))
        #expect(number("revision", in: hub.read(observer).last ?? "") == 5)
        write("publish late 6")
        hub.send("sync", from: observer)
        #expect(hub.read(observer) == [#"{"ok":"sync","revision":6}"#])
        hub.leave(observer)
        let next = hub.client()
        // The newest line had revision 5, of which more might have come.
        hub.send(#"{"op":"subscribe","key":"*","since":4}"#, from: next)
        #expect(
            hub.read(next) == [
                Self.reply(6, resumed: true), Self.event("update", "k5", 5, ##""value":5,"by":"#2"}"##),
                Self.event("update", "late", 6, ##""value":6,"by":"#2"}"##), Self.synced(6),
            ]
        )
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

    @Test("of the broker's own keys are told the present values")
    func ownKeys() {
        let lines = subscribe(since: 0, key: "$broker.warnings")
        #expect(lines.first?.hasSuffix(#""resumed":false}"#) == true)
        #expect(lines.count == 3)
    }

    @Test("without the current values are told what they missed, or nothing, and never synced")
    func withoutInitial() {
        write("publish a 1\npublish a 2")
        #expect(
            subscribe(since: 1, #","initial":false"#) == [
                Self.reply(2, resumed: true), Self.event("update", "a", 2, ##""value":2,"by":"#2"}"##),
            ]
        )
        hub.send("unsubscribe 1", from: observer)
        _ = hub.read(observer)
        #expect(subscribe(since: 3, #","initial":false"#) == [Self.reply(2, resumed: false)])
        write("publish a 3")
        #expect(hub.read(observer).count == 1)
    }

    @Test("with conditions are told what matches, and that the rest of what changed doesn't")
    func conditions() {
        write("publish a 1\npublish b 1\npublish c 1\npublish a 50\npublish b 2\ndelete c")
        #expect(
            subscribe(since: 3, #","where":{"":{"<":10}}"#) == [
                Self.reply(6, resumed: true),
                Self.event("leave", "a", 4, ##""by":"#2"}"##),
                Self.event("update", "b", 5, ##""value":2,"by":"#2"}"##),
                Self.event("delete", "c", 6, ##""by":"#2"}"##),
                Self.synced(6),
            ]
        )
    }

    @Test("of parts are told all that there are, and which aren't")
    func parts() {
        write(#"publish a {"x":1,"y":1}"# + "\n" + #"publish a {"x":1,"z":1}"#)
        #expect(
            subscribe(since: 1, #","fields":["/x","/y"]"#) == [
                Self.reply(2, resumed: true),
                Self.event("update", "a", 2, ##""fields":{"/x":1},"gone":["/y"],"by":"#2"}"##),
                Self.synced(2),
            ]
        )
    }

    @Test("of differences are told whole values of what they missed, and differences from then on")
    func differences() {
        let pad = #""pad":"\#(String(repeating: "p", count: 200))""#
        write("publish a {\(pad),\"n\":1}\npublish b {\(pad),\"n\":1}\npublish a {\(pad),\"n\":2}")
        let lines = subscribe(since: 2, #","diff":true"#)
        #expect(lines.count == 3)
        #expect(lines[1].contains(#""value":{"pad""#))
        write("publish a {\(pad),\"n\":3}\npublish b {\(pad),\"n\":3}")
        let patches = hub.read(observer)
        // Nothing was sent here yet for the key that it didn't miss.
        #expect(patches.map { $0.contains(#""patch":{"n":3}"#) } == [true, false])
        write("publish b {\(pad),\"n\":4}")
        #expect(hub.read(observer).map { $0.contains(#""patch":{"n":4}"#) } == [true])
    }

    @Test("of differences are told a key that they didn't miss whole, when it changes")
    func differencesOfTheRest() {
        write(##"publish a {"n":1,"text":"long enough to be worth a patch"}"##)
        _ = subscribe(since: 1, #","diff":true"#)
        for _ in 1...2 { write(##"publish a {"n":2,"text":"long enough to be worth a patch"}"##) }
        write(##"patch a {"n":3}"##)
        let lines = hub.read(observer)
        #expect(lines.map { $0.contains(#""value":{"n":"#) } == [true, false, false], "\(lines)")
        #expect(lines.last?.contains(#""patch":{"n":3}"#) == true)
    }

    @Test("are told a key that is written again before its turn once, with what it is by then")
    func writtenAgain() {
        write("publish a 1\npublish a 2\npublish b 1\npublish c 1")
        hub.stopReading(observer)
        hub.send(#"{"op":"subscribe","key":"*","since":1}"#, from: observer)
        write("publish a 3\ndelete b")
        #expect(
            hub.read(observer) == [
                Self.reply(4, resumed: true),
                Self.event("update", "c", 4, ##""value":1,"by":"#2"}"##),
                Self.event("update", "a", 5, ##""value":3,"by":"#2","skipped":1}"##),
                Self.event("delete", "b", 6, ##""by":"#2","skipped":1}"##),
                Self.synced(6),
            ]
        )
    }

    @Test("know in the end what is there, whenever they went", arguments: 1...40 as ClosedRange<UInt64>)
    func anyTime(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var present: [String: String] = [:]
        var known: [String: String] = [:]
        var revision = 0
        let (before, after) = (Int(generator.next() % 40), Int(generator.next() % 40))
        for step in 0..<before + after {
            if step == before { known = present }
            let key = "k\(generator.next() % 6)"
            if generator.next() % 3 == 0 {
                guard present.removeValue(forKey: key) != nil else { continue }
                write("delete \(key)")
            } else {
                present[key] = "\(step)"
                write("publish \(key) \(step)\nemit \(key) 0")
            }
            if step < before { revision += 1 }
        }
        if after == 0 { known = present }
        let since = generator.next() % 5 == 0 ? 1_000 : revision
        var revisions: [Int] = []
        for line in subscribe(since: since).dropFirst().dropLast() {
            guard let key = line.firstMatch(of: #/"key":"(k\d)"/#).map({ String($0.output.1) }) else {
                continue
            }
            known[key] = line.firstMatch(of: #/"value":(\d+)/#).map { String($0.output.1) }
            revisions += [number("revision", in: line) ?? 0]
        }
        // If everything is sent anew, keys that don't come are deleted, or never existed.
        if since == 1_000 { known = known.filter { present[$0.key] != nil } }
        #expect(known == present)
        #expect(revisions == revisions.sorted())
    }
}
