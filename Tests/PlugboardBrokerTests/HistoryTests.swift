import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("the history of writes", .computing)
struct HistoryTests {
    private let test = BareHub()

    private func key(_ entry: History.Entry) -> String {
        test.hub.keyspace.keyText(of: entry.observable)
    }

    @Test("what was deleted is kept until the ring has passed it, and then let go of")
    func letsGo() {
        let (client, visitor) = (test.client(), test.client())
        test.send(#"{"op":"publish","key":"gone","value":1}"#, from: visitor)
        test.send(#"{"op":"delete","key":"gone"}"#, from: visitor)
        test.forget(visitor)
        #expect(test.hub.keyspace.observableCount == 1)
        writeX(History.writesMax - 2, client)
        // The delete is the second oldest.
        #expect(key(test.hub.keyspace.history[test.hub.keyspace.history.oldest]) == "gone")
        #expect(test.hub.keyspace.observableCount == 2)
        writeX(2 * History.writesMax + 2000, client)
        #expect(test.hub.keyspace.observableCount == 1)
    }

    @Test("a key that comes back while the history points to it is one key all along")
    func comesBack() {
        let client = test.client()
        for round in 0..<3 {
            test.send(#"{"op":"publish","key":"k","value":\#(round)}"#, from: client)
            writeX(History.writesMax / 2, client)
            test.send(#"{"op":"delete","key":"k"}"#, from: client)
            writeX(round * 30_000, client)
        }
        test.send(#"{"op":"publish","key":"k","value":9}"#, from: client)
        writeX(2 * History.writesMax, client)
        #expect(test.hub.keyspace.observableCount == 2)
        let got = test.send("get k", from: client)
        #expect(got.first?.contains(#""value":9"#) == true)
    }

    @Test("churn of keys is bounded by the history, and none dangles")
    func churn() {
        let client = test.client()
        for number in 0..<History.writesMax * 3 / 2 {
            test.take(#"{"op":"publish","key":"k.\#(number)","value":1}"#, from: client)
            test.take(#"{"op":"delete","key":"k.\#(number)"}"#, from: client)
            if number % 100 == 0 { test.endTurn() }
        }
        test.endTurn()
        let count = test.hub.keyspace.observableCount
        #expect(count <= 3 * History.writesMax)
        let oldest = key(test.hub.keyspace.history[test.hub.keyspace.history.oldest])
        #expect(oldest.hasPrefix("k."))
    }

    @Test("the entries of a revision are found, wherever batches and emits stand between")
    func findsRevisions() {
        let client = test.client()
        test.send("subscribe bell", from: client)
        var expected: [UInt64: UInt64] = [:]
        for round in 0..<30_000 {
            switch round % 7 {
            case 0:
                test.send(
                    #"{"op":"batch","writes":[{"op":"publish","key":"a","value":1},{"op":"publish","key":"b","value":1},{"op":"emit","key":"bell","value":1}]}"#,
                    from: client
                )
            case 3: test.send(#"{"op":"emit","key":"bell","value":1}"#, from: client)
            default: writeX(1, client)
            }
            expected[test.hub.revision] = test.hub.keyspace.history.count - 1
            test.endTurn()
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
            test.send(#"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#, from: client)
            let last = test.hub.keyspace.history.count - 1
            #expect(Array(test.hub.keyspace.history.shared(with: last)) == (0..<most).map { last - $0 })
        }
    }

    /// Writes `x` so many times. Nobody reads the replies.
    private func writeX(_ count: Int, _ client: SessionHandle) {
        for _ in 0..<count {
            test.take(#"{"op":"publish","key":"x","value":1}"#, from: client)
            if test.hub.keyspace.history.count % 16 == 0 { test.endTurn() }
        }
    }
}
