import PlugboardMemory
import PlugboardWire
import Testing

@testable import PlugboardBroker

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

    @Test("as many entries are known as two generations hold, and at one more the older one goes")
    func entries() {
        var log = EmitLog()
        let most = UInt64(EmitLog.entriesMax)
        for revision in 1...2 * most { note(&log, "k", at: revision) }
        #expect(completeSince(log) == 0)
        let all = count(log, from: 0)
        #expect(all == 2 * most)
        // A repeated one takes no room.
        note(&log, "k", at: 2 * most)
        #expect(completeSince(log) == 0)
        note(&log, "k", at: 2 * most + 1)
        #expect(completeSince(log) == most + 1)
        let known = count(log, from: log.completeSince)
        #expect(known == most + 2)
    }

    @Test("long keys fill a generation earlier")
    func longKeys() {
        var log = EmitLog()
        let key = String(repeating: "k", count: 256)
        let most = UInt64(EmitLog.keyBytesMax / 256)
        for revision in 1...2 * most { note(&log, key, at: revision) }
        #expect(completeSince(log) == 0)
        note(&log, key, at: 2 * most + 1)
        #expect(completeSince(log) == most + 1)
        let all = count(log, from: 0)
        #expect(all == most + 1)
    }

    @Test("what an earlier broker emitted isn't known")
    func earlierBroker() {
        var log = EmitLog()
        log.begin(after: 7)
        #expect(completeSince(log) == 8)
    }
}
