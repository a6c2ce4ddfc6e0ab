import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("the history of writes", .computing)
struct HistoryTests {
    private let test = TestHub()

    private func key(_ entry: History.Entry) -> String {
        test.hub.keyspace.keyText(of: entry.observable)
    }

    @Test("what was deleted is kept until the ring has passed it, and then let go of")
    func letsGo() {
        let (client, visitor) = (test.client(), test.client())
        test.tell(#"{"op":"publish","key":"gone","value":1}"#, from: visitor)
        test.tell(#"{"op":"delete","key":"gone"}"#, from: visitor)
        test.forget(visitor)
        #expect(test.hub.keyspace.observableCount == 1)
        writeX(History.writesMax - 2, client)
        // The delete is the second oldest.
        #expect(key(test.hub.keyspace.history[test.hub.keyspace.history.oldest]) == "gone")
        #expect(test.hub.keyspace.observableCount == 2)
        writeX(16, client)
        #expect(test.hub.keyspace.observableCount == 1)
    }

    @Test("a key that comes back while the history points to it is one key all along")
    func comesBack() {
        let client = test.client()
        for round in 0..<3 {
            test.tell(#"{"op":"publish","key":"k","value":\#(round)}"#, from: client)
            writeX(History.writesMax / 2, client)
            test.tell(#"{"op":"delete","key":"k"}"#, from: client)
            writeX(round * 30_000, client)
        }
        test.tell(#"{"op":"publish","key":"k","value":9}"#, from: client)
        writeX(2 * History.writesMax, client)
        #expect(test.hub.keyspace.observableCount == 2)
        let got = test.tell("get k", from: client)
        #expect(got.first?.contains(#""value":9"#) == true)
    }

    @Test("churn of keys is bounded by the history, and none dangles")
    func churn() {
        let client = test.client()
        for number in 0..<History.writesMax * 3 / 2 {
            test.take(#"{"op":"publish","key":"k.\#(number)","value":1}"#, from: client)
            test.take(#"{"op":"delete","key":"k.\#(number)"}"#, from: client)
            if number % 100 == 0 { test.dropTurn() }
        }
        test.dropTurn()
        let count = test.hub.keyspace.observableCount
        #expect(count <= History.writesMax)
        let oldest = key(test.hub.keyspace.history[test.hub.keyspace.history.oldest])
        #expect(oldest.hasPrefix("k."))
    }

    @Test("the entries of a revision are found, wherever batches and emits stand between")
    func findsRevisions() {
        let client = test.client()
        test.tell("subscribe bell", from: client)
        var expected: [UInt64: UInt64] = [:]
        for round in 0..<30_000 {
            switch round % 7 {
            case 0:
                test.tell(
                    #"{"op":"batch","writes":[{"op":"publish","key":"a","value":1},{"op":"publish","key":"b","value":1},{"op":"emit","key":"bell","value":1}]}"#,
                    from: client
                )
            case 3: test.tell(#"{"op":"emit","key":"bell","value":1}"#, from: client)
            default: writeX(1, client)
            }
            expected[test.hub.revision] = test.hub.keyspace.history.count - 1
            test.dropTurn()
        }
        let (count, oldest) = (test.hub.keyspace.history.count, test.hub.keyspace.history.oldest)
        #expect(oldest == 0)
        for (revision, number) in expected {
            #expect(test.hub.keyspace.history.last(of: revision, before: count) == number)
        }
        let (future, none) = (
            test.hub.keyspace.history.last(of: test.hub.revision + 1, before: count),
            test.hub.keyspace.history.last(of: 0, before: count)
        )
        #expect(future == nil)
        #expect(none == nil)
        writeX(History.writesMax, client)
        let end = test.hub.keyspace.history.count
        let first = test.hub.keyspace.history[test.hub.keyspace.history.oldest].revision
        let (last, passed) = (
            test.hub.keyspace.history.last(of: first, before: end),
            test.hub.keyspace.history.last(of: first - 1, before: end)
        )
        #expect(last == test.hub.keyspace.history.oldest)
        #expect(passed == nil)
    }

    @Test("of the writes of one revision, the newest 64 are candidates for a cause")
    func shared() {
        let client = test.client()
        for (count, most) in [(100, History.sharedMax), (3, 3)] {
            let writes = (0..<count).map { #"{"op":"publish","key":"k\#($0)","value":1}"# }
            test.tell(#"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#, from: client)
            let last = test.hub.keyspace.history.count - 1
            #expect(Array(test.hub.keyspace.history.shared(with: last)) == (0..<most).map { last - $0 })
        }
    }

    /// Writes `x` so many times. Nobody reads the replies.
    private func writeX(_ count: Int, _ client: SessionHandle) {
        for _ in 0..<count {
            test.take(#"{"op":"publish","key":"x","value":1}"#, from: client)
            if test.hub.keyspace.history.count % 16 == 0 { test.dropTurn() }
        }
    }
}

@Suite("the emits that are counted", .computing)
struct EmitLogTests {
    private func count(_ log: borrowing EmitLog, from revision: UInt64) -> UInt64 {
        var count: UInt64 = 0
        for place in log.places(from: revision) { count += log.times(place) }
        return count
    }

    private func completeSince(_ log: borrowing EmitLog) -> UInt64 { log.completeSince }

    private func note(_ log: inout EmitLog, _ key: String, at revision: UInt64) {
        key.withBytes { log.append($0, at: revision) }
    }

    @Test(
        "as many are known as there is room for, and at one more the older half goes",
        arguments: [(1, EmitLog.entriesMax), (256, EmitLog.keyBytesMax / 256)]
    )
    func most(keyBytes: Int, most: Int) {
        let (most, key) = (UInt64(most), String(repeating: "k", count: keyBytes))
        var log = EmitLog()
        for revision in 1...most { note(&log, key, at: revision) }
        // A repeated one takes no room.
        note(&log, key, at: most)
        let all = count(log, from: 0)
        #expect(completeSince(log) == 0 && all == most + 1)
        note(&log, key, at: most + 1)
        #expect(completeSince(log) == most / 2 + 1)
        let known = count(log, from: log.completeSince)
        #expect(known == most / 2 + 2)
    }

    @Test("what an earlier broker emitted isn't known")
    func earlierBroker() {
        var log = EmitLog()
        log.begin(after: 7)
        #expect(completeSince(log) == 8)
    }
}

/// The origin of a write: kept as spelled, told wherever the writer is named, and forgotten with what has it.
@Suite("Who wrote it first", .computing)
struct OriginTests {
    private func publish(_ key: String, _ origin: String) -> String {
        #"{"op":"publish","key":"\#(key)","value":1,"origin":"\#(origin)"}"#
    }

    @Test("one origin of many keys is kept once, and forgotten with the last of them")
    func shared() {
        let test = TestHub()
        let (client, other) = (test.client(), test.client())
        for number in 0..<100 { test.tell(publish("k\(number)", "cart@hostB"), from: client) }
        #expect(test.hub.keyspace.authors.shared.count == 1)
        test.tell(publish("k0", "cart@hostB"), from: other)
        test.tell(publish("k1", "till@hostB"), from: client)
        test.dropTurn()
        #expect(test.hub.keyspace.authors.shared.count == 3)
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
        for number in 0..<100 { test.tell("publish k\(number) 2", from: client) }
        // The history remembers them for two generations of writes.
        for _ in 0..<4 {
            for _ in 0..<History.writesMax { test.take("publish k 3", from: client) }
            test.dropTurn()
        }
        #expect(test.hub.keyspace.authors.shared.count == 0)
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
    }

    @Test("an emit that nobody hears, and a delete, leave nothing behind that isn't remembered")
    func unheard() {
        let test = TestHub()
        let client = test.client()
        test.tell(#"{"op":"emit","key":"bell","value":1,"origin":"x"}"#, from: client)
        #expect(test.hub.keyspace.authors.shared.count == 0)
        test.tell("publish a 1", from: client)
        test.tell(#"{"op":"delete","key":"a","origin":"x"}"#, from: client)
        #expect(test.tell("why a", from: client)[0].contains(##""by":"#1","origin":"x","when""##))
        test.dropTurn()
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
    }
}
