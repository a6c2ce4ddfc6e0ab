@testable import PlugboardBroker
import PlugboardWire
import TestSupport
import Testing

@Suite("Observers that fall behind", .computing)
struct ConflationTests {
    private let hub = TestHub()
    private let (observer, writer): (Int, Int)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    private func subscribe(_ options: String = "", key: String = "**") {
        hub.send(#"{"op":"subscribe","key":"\#(key)"\#(options)}"#, from: observer)
        _ = hub.read(observer)
    }

    private static func update(_ key: String, _ revision: Int, _ rest: String) -> String {
        ##"{"event":"update","sub":1,"key":"\##(key)","revision":\##(revision),\##(rest)"##
    }

    @Test("a line that was too long is answered in its place, and what comes later is whole")
    func overlong() {
        subscribe()
        let refused = #"{"error":"too_long","line":0"#
        for round in 1...2 {
            hub.stopReading(observer)
            hub.send("publish a \(round)", from: writer)
            hub.send("get a", from: observer)
            hub.refuseOverlong(from: observer)
            let lines = hub.read(observer)
            #expect(lines.map { String($0.prefix(28)) }.dropFirst(2) == [refused], "\(lines)")
            #expect(lines.first?.hasPrefix(#"{"event":"update""#) == true)
        }
        hub.stopReading(observer)
        hub.send("publish a 3", from: writer)
        #expect(hub.read(observer) == [Self.update("a", 3, ##""value":3,"by":"#2"}"##)])
    }

    @Test("one that goes is looked at no more, whatever its turn had for it")
    func going() {
        subscribe()
        #expect(hub.leaveInTurn(observer) == 0)
        hub.send("publish a 1", from: writer)
    }

    @Test("where there is no room for those at the start, the newest is told, and the gap")
    func snapshotOfAllWithoutRoom() {
        let value = "\"" + String(repeating: "v", count: 500_000) + "\""
        for key in 1...12 { hub.send("publish k\(key) \(value)", from: writer) }
        hub.stopReading(observer)
        hub.send(#"{"op":"subscribe","key":"**","delivery":"all"}"#, from: observer)
        for key in 1...12 { hub.send("publish k\(key) \(key)", from: writer) }
        let lines = hub.read(observer)
        #expect(hub.waitingBytes(observer) == 0)
        #expect(!hub.hasCatchup(observer))
        for key in 1...12 {
            let ofKey = lines.filter { $0.contains(#""key":"k\#(key)""#) }
            let isTold = ofKey.last?.contains(#""revision":\#(12 + key),"value":\#(key),"#) == true
            #expect(isTold || lines.contains { $0.contains(#""event":"lagged""#) })
            let old = ofKey.filter { $0.contains(#""value":"v"#) }
            #expect(old == ofKey.filter { $0.contains(#""revision":\#(key),"#) })
        }
    }

    @Test("emits are kept in their place, up to the bound; what is dropped is told in its place")
    func emits() {
        subscribe()
        hub.stopReading(observer)
        let filler = "\"" + String(repeating: "e", count: 100_000) + "\""
        hub.send("publish a 1\nemit e 1\npublish b 1", from: writer)
        for _ in 0..<20 { hub.send("publish a 2\nemit e \(filler)", from: writer) }
        #expect(hub.waitingBytes(observer) <= Limits.queueBytesMax)
        let lines = hub.read(observer).map { $0.count > 200 ? "large" : $0 }
        #expect(
            lines == [
                ##"{"event":"emit","sub":1,"key":"e","revision":1,"value":1,"by":"#2"}"##,
                Self.update("b", 2, ##""value":1,"by":"#2"}"##),
            ] + Array(repeating: "large", count: 10) + [
                #"{"event":"lagged","sub":1,"dropped":10,"first":13,"last":22}"#,
                Self.update("a", 22, ##""value":2,"by":"#2","skipped":20}"##),
            ]
        )
        hub.send("emit e 2", from: writer)
        #expect(hub.read(observer).count == 1)
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
        #expect(hub.read(observer) == [Self.update("a", 2_001, ##""value":1,"by":"#2"}"##)])
    }

    @Test("a line that just fits into the queue is kept, one byte more is dropped", arguments: [0, 1])
    func queueBound(excess: Int) {
        subscribe()
        hub.stopReading(observer)
        hub.send("emit e \"\"", from: writer)
        let overhead = hub.waitingBytes(observer)
        let room = Limits.queueBytesMax - 3 * overhead + excess
        for part in [room / 2, room - room / 2] {
            hub.send("emit e \"\(String(repeating: "x", count: part))\"", from: writer)
        }
        #expect(hub.waitingBytes(observer) <= Limits.queueBytesMax)
        #expect(hub.read(observer).last?.hasPrefix(#"{"event":"lagged""#) == (excess == 1))
    }

    @Test("a snapshot of any size streams within the bound, meets the live events, and is complete")
    func largeSnapshot() {
        let count = 5_000
        let value = String(repeating: "v", count: 1_000)
        for index in 0..<count { hub.send("publish k.\(index) \"\(value)\"", from: writer) }
        hub.send("subscribe k.*", from: observer)
        #expect(hub.waitingBytes(observer) <= Limits.outboxBytesMax)
        // While the snapshot is being sent: a key that was sent, one that wasn't, a new one, and one that
        // is deleted.
        hub.send(
            "publish k.0 1\npublish k.\(count - 1) 2\npublish k.new 3\ndelete k.\(count - 2)", from: writer
        )
        let lines = hub.read(observer)
        let synced = lines.firstIndex { $0.hasPrefix(#"{"event":"synced""#) }
        let initial = lines.filter { $0.contains(#""initial":true"#) }
        #expect(initial.count == count - 1)
        #expect(Set(initial.map { $0.prefix(60) }).count == count - 1)
        #expect(!lines.contains { $0.contains(#""event":"delete""#) })
        let revisions = lines.dropFirst().compactMap { number("revision", in: $0) }
        #expect(revisions == revisions.sorted())
        #expect(lines.filter { $0.contains(#""key":"k.0","#) }.count == 2)
        #expect(synced != nil)
    }

    @Test("who is owed one key more than the limit is given up, who is owed the limit is not")
    func owedLimit() {
        subscribe()
        hub.stopReading(observer)
        hub.send("publish a 1", from: writer)
        hub.setOwedCount(Limits.owedKeysMax - 1, of: observer)
        hub.send("publish b 1", from: writer)
        #expect(hub.isOpen(observer))
        hub.send("publish c 1", from: writer)
        #expect(!hub.isOpen(observer))
    }
}

@Suite("Owed keys", .computing)
struct OwedKeysTests {
    @Test("stay in the order of their newest revisions, whatever comes and goes")
    func order() {
        var generator = SeededRandom(seed: 7)
        var table = Keyspace(time: .system)
        var keys = ConflatedKeys()
        var model: [(Int, UInt64)] = []
        let observables = (0..<300).map { index in
            let name = Array("k\(index)".utf8)
            return table.insert(name.span, hash: table.hash(name.span))
        }
        for revision in 1...20_000 as ClosedRange<UInt64> {
            let index = Int(generator.next() % 300)
            if generator.next() % 3 == 0, let front = keys.front {
                #expect(keys[front].observable == observables[model[0].0])
                #expect(keys[front].revision == model[0].1)
                keys.remove(front)
                model.removeFirst()
            } else if let owed = keys.find(observables[index]) {
                keys.renew(owed, revision: revision, event: revision)
                model.removeAll { $0.0 == index }
                model.append((index, revision))
            } else {
                #expect(!model.contains { $0.0 == index })
                let owed = OwedKey(observables[index], revision: revision, event: revision)
                keys.append(owed)
                model.append((index, revision))
            }
            #expect(keys.count == model.count)
        }
        while let front = keys.front { keys.remove(front) }
        let isEmpty = keys.isEmpty
        #expect(isEmpty)
    }
}
