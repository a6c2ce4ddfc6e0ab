import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Bonds", .computing)
struct LifetimeHubTests {
    private func publish(_ key: String, _ rest: String = "") -> String {
        #"{"op":"publish","key":"\#(key)","value":1\#(rest)}"#
    }

    private let connected = #","while":"connected""#
    private let hour = #","ttl":3600000"#

    @Test("a key is bound once, however often it is written, and not at all by a plain write")
    func once() {
        let hub = TestHub()
        let (writer, other) = (hub.client(), hub.client())
        for _ in 0..<100 { hub.send(publish("a", connected + hour), from: writer) }
        #expect(hub.boundCount == 1)
        #expect(hub.deadlineCount == 1)
        hub.send(publish("a", connected), from: other)
        #expect(hub.boundCount == 1)
        #expect(hub.deadlineCount == 0)
        for free in [publish("a"), #"{"op":"patch","key":"a","value":{}}"#, #"{"op":"delete","key":"a"}"#] {
            hub.send(publish("a", connected + hour), from: writer)
            #expect(hub.boundCount == 1)
            hub.send(free, from: other)
            #expect(hub.boundCount == 0)
            #expect(hub.deadlineCount == 0)
        }
    }

    @Test("a time of any length is handed over and restored as it is")
    func longestRestored() {
        let test = BareHub()
        let client = test.client()
        test.send(publish("a", #","ttl":9007199254740991"#), from: client)
        var expires: [UInt64] = []
        let now = WallClock.millisecondsSince1970()
        CarriedValues(.system).forEach(in: test.hub.keyspace, test.hub.deadlines) {
            expires.append($0.expires)
        }
        let end = now + 9_007_199_254_740_991
        let isEnd = { (time: UInt64) in end - 3_600_000 < time && time < end + 3_600_000 }
        #expect(expires.count == 1 && expires.allSatisfy(isEnd), "\(expires)")
        let line =
            #"{"event":"update","key":"k","revision":7,"value":1,"by":"a","#
            + #""expires":\#(end),"when":\#(now)}"#
        let bytes = Array(line.utf8)
        let other = BareHub()
        var authors = RestoredAuthors()
        other.hub.keyspace.beginLoading()
        if let record = RecordLine(bytes.span) { other.hub.restore(record, bytes.span, &authors) }
        other.hub.endRestoring(authors, lastRecord: now)
        other.hub.endRestoring(snapshotRevision: 0)
        let reply = other.send("get k", from: other.client()).first
        let left = reply?.firstMatch(of: #/"ttl":(\d+)/#).flatMap { UInt64($0.output.1) } ?? 0
        #expect(isEnd(now + left), "\(left)")
    }

    @Test("the keys of connections beyond a turn's worth go in the turns after, in their order, once each")
    func turns() {
        let hub = TestHub()
        let observer = hub.client()
        hub.send("subscribe **", from: observer)
        let (writers, some) = ((0..<3).map { _ in hub.client() }, Deadlines.firedPerTurnMax)
        for (number, writer) in writers.enumerated() {
            for index in 0..<some + 9 { hub.send(publish("k\(number).\(index)", connected), from: writer) }
        }
        _ = hub.read(observer)
        // The last one leaves while it is the turn of the second one's keys.
        for writer in writers { hub.leave(writer) }
        #expect(hub.keyCount == 27)
        hub.send(publish("k2.\(some + 8)"), from: observer)
        hub.expireAll(after: 0)
        #expect(hub.keyCount == 1 && hub.deadlineCount == 0)
        let told = hub.read(observer).filter { $0.contains(#""reason":"disconnected""#) }
        let keys = told.compactMap { $0.firstMatch(of: #/"key":"(k\d\.\d+)"/#).map { String($0.output.1) } }
        let all = (0..<3).flatMap { number in (0..<some + 9).map { "k\(number).\($0)" } }
        #expect(keys == all.dropLast())
    }

    @Test("marks are one word: a place and a reason, each by itself")
    func marks() {
        var marks = LifetimeMarks()
        #expect(marks.isEmpty)
        for place in [0, 1, 1_000_000] {
            marks.bond = place
            for reason in [nil] + EventReason.allCases.map(Optional.some) {
                marks.reason = reason
                #expect(marks.bond == place)
                #expect(marks.reason == reason)
            }
        }
        marks.bond = nil
        #expect(marks.reason == .will)
        marks.reason = nil
        #expect(marks.isEmpty)
        #expect(marks.bond == nil)
    }

    @Test("the history has room for every operation beside every reason")
    func historyReasons() {
        #expect(Operation.allCases.allSatisfy { $0.rawValue < 1 << History.Entry.operationBits })
        #expect(EventReason.allCases.allSatisfy { $0.rawValue < 1 << (8 - History.Entry.operationBits) })
        let hub = TestHub()
        let reader = hub.client()
        hub.send("subscribe **", from: reader)
        for kind in ["publish a 1", "patch a 1", "emit a 1", "delete a"] {
            hub.send("publish a 0", from: reader)
            let mortal = hub.client()
            hub.send("will \(kind)", from: mortal)
            hub.leave(mortal)
            _ = hub.read(reader)
            hub.send("why a", from: reader)
            let step = ##""op":"\##(kind.prefix { $0 != " " })","by":"#\##(mortal + 1)","reason":"will""##
            let answer = hub.read(reader).last ?? ""
            #expect(kind.hasPrefix("emit") || answer.contains(step), "\(answer)")
        }
    }

    @Test("who waited for a client's acknowledgement is told together of the write and of what ends with it")
    func endsBeforeGatesOpen() {
        let hub = TestHub()
        let (indicator, watcher, writer) = (hub.client(), hub.client(), hub.client())
        hub.send("subscribe one\nsubscribe two", from: indicator)
        hub.send(#"{"op":"subscribe","key":"cart","phase":1,"ack":true}"#, from: indicator)
        hub.send(publish("summary", connected), from: indicator)
        hub.send(#"{"op":"subscribe","keys":["cart","summary"],"delivery":"all"}"#, from: watcher)
        _ = hub.read(watcher)
        hub.send(publish("cart"), from: writer)
        #expect(hub.read(watcher).isEmpty)
        // Its subscriptions end one a turn, the one that acknowledges first.
        var turns: [[String]] = []
        while !hub.leaveInPart(indicator) { turns.append(hub.read(watcher)) }
        turns.append(hub.read(watcher))
        #expect(turns.count >= 3)
        let told = turns.filter { !$0.isEmpty }
        #expect(told.count == 1)
        #expect(told.first?.first?.contains(#""key":"cart""#) == true)
        #expect(told.first?.last?.contains(#""event":"delete""#) == true)
    }
}
