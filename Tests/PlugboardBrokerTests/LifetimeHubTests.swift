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

    @Test("where the clock was set back, what ends by itself lasts no longer than it was to")
    func clockSetBack() {
        let test = BareHub()
        let later = WallClock.millisecondsSince1970() + 365 * 86_400_000
        let line =
            #"{"event":"update","key":"k","revision":1,"value":1,"by":"a","expires":\#(later + 4_000),"#
            + #""when":\#(later)}"#
        var authors = RestoredAuthors()
        test.hub.keyspace.observables.beginLoading()
        let bytes = Array(line.utf8)
        if let record = RecordLine(bytes.span) { test.hub.restore(record, bytes.span, &authors) }
        test.hub.endRestoring(authors, lastRecord: later)
        test.hub.endRestoring(snapshotRevision: 0)
        let due = test.hub.deadlines.next ?? .max
        #expect(due <= MonotonicClock.nanoseconds() + 4_100_000_000)
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
        other.hub.keyspace.observables.beginLoading()
        if let record = RecordLine(bytes.span) { other.hub.restore(record, bytes.span, &authors) }
        other.hub.endRestoring(authors, lastRecord: now)
        other.hub.endRestoring(snapshotRevision: 0)
        let reply = other.send("get k", from: other.client()).first
        let left = reply?.firstMatch(of: #/"ttl":(\d+)/#).flatMap { UInt64($0.output.1) } ?? 0
        #expect(isEnd(now + left), "\(left)")
    }

    @Test("what ends when is as in a plain model, over many random writes of several clients")
    func model() {
        let hub = TestHub()
        let keys = (0..<40).map { "k.\($0)" }
        var clients = (0..<5).map { _ in hub.client() }
        var model: [String: (client: Int?, due: UInt64?)] = [:]
        var now: UInt64 = 0
        for _ in 0..<5_000 {
            let (client, key) = (clients.randomElement() ?? 0, keys.randomElement() ?? "k")
            switch Int.random(in: 0..<12) {
            case 0:
                hub.send(#"{"op":"delete","key":"\#(key)"}"#, from: client)
                model[key] = nil
            case 1:
                hub.leave(client)
                model = model.filter { $0.value.client != client }
                clients = clients.map { $0 == client ? hub.client() : $0 }
            case 2:
                now += UInt64.random(in: 0..<40) * 3_600_000
                hub.expireAll(after: now)
                model = model.filter { $0.value.due.map { $0 > now } ?? true }
            default:
                let (isConnected, hasTime) = (Bool.random(), Bool.random())
                let hours = UInt64.random(in: 1..<100)
                let time = hasTime ? #","ttl":\#(hours * 3_600_000)"# : ""
                hub.send(publish(key, (isConnected ? connected : "") + time), from: client)
                let due = hasTime ? now + hours * 3_600_000 : nil
                model[key] = (isConnected ? client : nil, due)
            }
            #expect(hub.keyCount == model.count)
            #expect(hub.boundCount == model.values.count { $0.client != nil || $0.due != nil })
            #expect(hub.deadlineCount == model.values.count { $0.due != nil })
        }
        for client in clients { hub.leave(client) }
        hub.expireAll(after: now + 1_000 * 3_600_000)
        #expect(hub.boundCount == 0)
        #expect(hub.deadlineCount == 0)
    }

    @Test("the keys of a connection beyond a turn's worth go in the turns after, once each")
    func turns() {
        let hub = TestHub()
        let (writer, observer) = (hub.client(), hub.client())
        let count = Deadlines.firedPerTurnMax * 2 + 1
        for index in 0..<count { hub.send(publish("k.\(index)", connected), from: writer) }
        hub.send("subscribe **", from: observer)
        _ = hub.read(observer)
        hub.leave(writer)
        #expect(hub.keyCount == count - Deadlines.firedPerTurnMax)
        hub.send(publish("k.\(count - 1)"), from: observer)
        hub.expireAll(after: 0)
        #expect(hub.keyCount == 1)
        #expect(hub.deadlineCount == 0)
        let told = hub.read(observer).filter { $0.contains(#""reason":"disconnected""#) }
        #expect(told.count == count - 1)
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
        #expect(Operation.allCases.allSatisfy { $0.rawValue < 32 })
        #expect(EventReason.allCases.allSatisfy { $0.rawValue < 8 })
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
