import Foundation
import PlugboardClient
import TestSupport
import Testing

@testable import BridgePlugin

@Suite("What the mirror decides")
struct MirrorTests {
    private func mirror(_ sharing: Sharing = Sharing(share: ["s.**"])) -> Mirror {
        var mirror = Mirror(sharing: sharing, bridge: "me")
        mirror.take(lease: 1, isNew: true)
        return mirror
    }

    private func put(_ key: String, _ number: Int, at revision: Int, by bridge: String = "other")
        -> EtcdChange
    {
        let id = WriteID(bridge: bridge, revision: number)
        let envelope = Envelope(host: "h", by: nil, when: nil, id: id, value: .integer(number))
        return EtcdChange(key: key, revision: revision, content: .put(envelope))
    }

    private func take(_ change: EtcdChange, _ mirror: inout Mirror, revision: Int? = nil) {
        mirror.take(mirror.step(for: change), change, revision: revision)
        mirror.advance(to: change.revision)
    }

    @Test("an event that comes twice, or late, changes nothing")
    func repeated() {
        var mirror = mirror()
        take(put("s.a", 1, at: 5), &mirror, revision: 1)
        #expect(mirror.step(for: put("s.a", 1, at: 5)) == .skip)
        #expect(mirror.step(for: put("s.a", 0, at: 4)) == .skip)
        #expect(mirror.counts.applied == 1)
    }

    @Test("a stranger of the same name is a stranger: only the bridge's own identifier counts")
    func sameName() {
        var mirror = mirror()
        mirror.note("s.a", .integer(1), revision: 1, by: nil)
        let stranger = put("s.a", 9, at: 5, by: "stranger")
        guard case .apply(_, let lost?) = mirror.step(for: stranger) else {
            Issue.record("it is taken for an own write")
            return
        }
        #expect(lost.value == .integer(1))
        #expect(mirror.step(for: put("s.a", 1, at: 5, by: "me")) == .confirm)
    }

    @Test("what is bound goes under the lease, and is written again when that has ended")
    func leases() {
        var mirror = Mirror(sharing: Sharing(share: ["s.**"]), bridge: "me")
        mirror.note("s.bound", .integer(1), revision: 1, by: "till", isBound: true)
        mirror.note("s.plain", .integer(2), revision: 2, by: "till", origin: "cart@c")
        #expect(mirror.nextTransaction() == nil)
        mirror.take(lease: 7, isNew: true)
        let transaction = mirror.nextTransaction()
        #expect(transaction?.lease == 7)
        #expect(transaction?.writes.map(\.isBound) == [true, false])
        #expect(transaction?.writes.map(\.by) == ["till", "cart@c"])
        mirror.settle(.done(revision: 5))
        // The lease ends: etcd deletes the key, and the connection here is still there.
        let gone = EtcdChange(key: "s.bound", revision: 6, content: .delete)
        #expect(mirror.step(for: gone) == .writeAgain)
        take(gone, &mirror)
        #expect(mirror.nextTransaction()?.writes.map(\.guardRevision) == [0])
        mirror.settle(.leaseGone)
        #expect(mirror.nextTransaction() == nil)
        mirror.take(lease: 8, isNew: true)
        #expect(mirror.nextTransaction()?.lease == 8)
        mirror.settle(.done(revision: 7))
        #expect(mirror.owed == 0)
        // Another lease: what stands under the old one is written again. What another host deletes is gone.
        mirror.take(lease: 9, isNew: true)
        #expect(mirror.nextTransaction()?.writes.map(\.key) == ["s.bound"])
        mirror.settle(.done(revision: 8))
        let id = WriteID(bridge: "other", revision: 3)
        let deleted = EtcdChange(key: "s.bound", revision: 9, content: .delete, deleteID: id)
        #expect(mirror.step(for: deleted) == .apply(ifRevision: 1, lost: nil))
    }

    @Test("an answer that comes after the lease's end settles nothing")
    func lateAnswer() {
        var mirror = mirror()
        mirror.note("s.bound", .integer(1), revision: 1, by: "till", isBound: true)
        #expect(mirror.nextTransaction()?.writes.count == 1)
        take(put("s.bound", 1, at: 5, by: "me"), &mirror)
        take(EtcdChange(key: "s.bound", revision: 6, content: .delete), &mirror)
        mirror.settle(.done(revision: 5))
        #expect(mirror.owed == 1)
        #expect(mirror.nextTransaction()?.writes.map(\.guardRevision) == [0])
        mirror.settle(.done(revision: 7))
        #expect(mirror.owed == 0)
    }

    @Test("an event that the watch has lost is found by a comparison")
    func lostEvents() {
        var mirror = mirror()
        take(put("s.a", 1, at: 5), &mirror, revision: 1)
        take(put("s.b", 2, at: 6), &mirror, revision: 2)
        mirror.advance(to: 9)
        let range = [put("s.b", 3, at: 8), put("s.c", 4, at: 9), put("x.y", 5, at: 9)]
        let lost = mirror.differences(from: range, at: 9)
        #expect(Set(lost.map(\.key)) == ["s.a", "s.b", "s.c"])
        #expect(lost.first { $0.key == "s.a" }?.content == .delete)
        #expect(mirror.differences(from: [put("s.a", 1, at: 5), put("s.b", 2, at: 6)], at: 9).isEmpty)
    }

    @Test("a batch of 128 keys is one transaction, and one more makes two")
    func transactionLimit() {
        for (count, sizes) in [(128, [128]), (129, [128, 1])] {
            var mirror = mirror()
            for number in 0..<count { mirror.note("s.k\(number)", .integer(number), revision: 1, by: nil) }
            var found: [Int] = []
            while let transaction = mirror.nextTransaction() {
                found.append(transaction.writes.count)
                mirror.settle(.done(revision: found.count))
            }
            #expect(found == sizes)
            #expect(mirror.counts.split == sizes.count - 1)
            #expect(mirror.owed == 0)
        }
    }

    @Test("what etcd refuses is looked for in halves, and only that is left out")
    func refused() {
        var mirror = mirror()
        for number in 0..<8 { mirror.note("s.k\(number)", .integer(number), revision: number + 1, by: nil) }
        var revision = 0
        while let transaction = mirror.nextTransaction() {
            revision += 1
            let isTooLarge = transaction.writes.contains { $0.key == "s.k5" }
            mirror.settle(isTooLarge ? .refused : .done(revision: revision))
        }
        #expect(mirror.counts.refused == 1)
        #expect(mirror.counts.sent == 7)
        #expect(mirror.refused == ["s.k5": 6])
        mirror.note("s.k5", .integer(0), revision: 20, by: nil)
        #expect(mirror.nextTransaction()?.writes.map(\.key) == ["s.k5"])
        #expect(mirror.refused.isEmpty)
    }

    @Test("what etcd refused stays on the bus after a compaction, up to the limit of what is remembered")
    func refusedStays() {
        let count = BridgeLimits.refusedMax + 1
        var before = mirror()
        for number in 0..<count { before.note("s.k\(number)", .integer(1), revision: 1, by: "till") }
        while before.nextTransaction() != nil { before.settle(.refused) }
        #expect(before.counts.refused == count && before.settled == 1)
        #expect(before.refused.count == BridgeLimits.refusedMax)
        let memory = Mirror.Memory(etcd: 5, settled: 1, refused: before.refused, name: "bridge")
        var next = mirror()
        for number in 0..<count {
            next.begin(BusValue(key: "s.k\(number)", revision: 1, value: .integer(1), by: "till"))
        }
        let gone = next.reconcile([], at: 9, .compacted(memory))
        #expect(gone.count == 1 && next.owed == BridgeLimits.refusedMax)
    }

    @Test("a million writes of a thousand keys while etcd is away are a thousand puts, and a bounded queue")
    func folded() {
        var mirror = mirror()
        mirror.barrier = 1
        let count = LongSuite.count(1_000_000, quick: 100_000)
        for revision in 1...count {
            mirror.note("s.k\(revision % 1_000)", .integer(revision), revision: revision, by: nil)
        }
        mirror.advance(to: 1)
        #expect(mirror.queue.count <= 2 * 1_000 + 1_025)
        var puts = 0
        while let transaction = mirror.nextTransaction() {
            puts += transaction.writes.count
            mirror.settle(.done(revision: puts))
        }
        #expect(puts == 1_000)
        #expect(mirror.counts.folded == count - 1_000)
    }

    @Test("what others send under the same patterns is left alone, also after a restart")
    func sentByOthers() {
        let entry = put("s.other", 1, at: 5)
        for comparison in [
            Mirror.Comparison.past(settled: 0),
            .compacted(Mirror.Memory(etcd: 5, settled: 0, name: "bridge")),
        ] {
            for sharing in [Sharing(send: ["s.**"]), Sharing(own: ["s.**"])] {
                var mirror = mirror(sharing)
                #expect(
                    mirror.reconcile([entry, put("s.mine", 2, at: 4, by: "me")], at: 5, comparison) == [])
                mirror.advance(to: 5)
                // Only what this host had put there, and doesn't have any more, is deleted.
                for pattern in sharing.own { mirror.claim(pattern) }
                #expect(mirror.nextTransaction()?.writes.map(\.key) == ["s.mine"])
            }
        }
    }

    @Test("how far a comparison has come: by host and key, and only what etcd had then")
    func comparedParts() {
        let part = ComparedPart(put("s.b", 1, at: 5), at: 9)
        #expect(part.covers(put("s.a", 2, at: 9)) && part.covers(put("s.b", 1, at: 5)))
        #expect(!part.covers(put("s.a", 2, at: 10)) && !part.covers(put("s.c", 1, at: 5)))
        // Deletes and what no bridge wrote come before every host.
        #expect(part.covers(EtcdChange(key: "s.c", revision: 5, content: .delete)))
        // An earlier comparison that went further still counts, one that didn't is forgotten.
        let next = ComparedPart(put("s.a", 1, at: 5), at: 12)
        #expect(next.following([part]) == [next, part])
        #expect(part.following([next]) == [part])
        var parts: [ComparedPart] = []
        for number in (0...ComparedPart.countMax).reversed() {
            parts = ComparedPart(put("s.k\(number)", 1, at: 5), at: 9).following(parts)
        }
        #expect(parts.count == ComparedPart.countMax && parts.first?.key == "s.k0")
    }

    @Test("the cursor is written as a decoder reads it")
    func cursorText() throws {
        var cursor = BridgeCursor(etcd: 5, cluster: -3, settled: 7, epoch: "e\"", bridge: "b", conflicts: 1)
        let decoder = JSONDecoder()
        #expect(try decoder.decode(BridgeCursor.self, from: Data(cursor.json.bytes)) == cursor)
        (cursor.fence, cursor.compared) = (9, [ComparedPart(put("s.a", 1, at: 5), at: 9)])
        cursor.refused = ["s.b": 7, "s.a": 8]
        #expect(try decoder.decode(BridgeCursor.self, from: Data(cursor.json.bytes)) == cursor)
    }

    @Test("a transaction is written as an encoder writes it")
    func transactionText() throws {
        let key = Data("a/\"k\"".utf8)
        let put = EtcdPut(key: key, value: Data(#"{"x":"é"}"#.utf8), lease: EtcdNumber(-7))
        let body = EtcdTransactionRequest(
            compare: [EtcdCompare(key: key, mod_revision: EtcdNumber(5))],
            success: [
                EtcdOperation(request_put: put), EtcdOperation(request_put: EtcdPut(key: key, value: Data())),
                EtcdOperation(request_delete_range: EtcdDelete(key: key)),
            ],
            failure: [EtcdOperation(request_range: EtcdRange(key: key))]
        )
        let written = try JSONSerialization.jsonObject(with: body.json) as? NSDictionary
        let encoded = try JSONSerialization.jsonObject(with: JSONEncoder().encode(body)) as? NSDictionary
        #expect(written != nil && written == encoded)
        let empty = EtcdTransactionRequest(compare: [], success: [], failure: [])
        #expect(String(decoding: empty.json, as: UTF8.self) == #"{"compare":[],"success":[],"failure":[]}"#)
    }

    @Test("keys of brokers and bridges never cross, and patterns that overlap are refused")
    func sharing() {
        let sharing = Sharing(share: ["**"])
        #expect(sharing.direction(of: "s.a") == [.out, .into])
        for key in ["$broker.clients", "a.$b", "bridge.bridge.cursor"] {
            #expect(sharing.direction(of: key).isEmpty, "\(key)")
        }
        #expect(Sharing().mistake != nil)
        #expect(Sharing(share: ["a.**"], send: ["a.b"]).mistake == "\"a.**\" and \"a.b\" overlap")
        #expect(Sharing(share: ["a..b"]).mistake == "\"a..b\" is not a pattern")
        #expect(Sharing(share: ["a.**"], own: ["b.*"]).mistake == nil)
    }

    @Test("an envelope keeps the value byte for byte; other JSON is a value, and anything else is nothing")
    func envelopes() throws {
        let value = try JSON(#"{"price": 1.50}"#)
        let envelope = Envelope(
            host: "h", by: "cart", when: "now", id: WriteID(bridge: "a.b", revision: 7), value: value
        )
        let text = String(decoding: envelope.bytes, as: UTF8.self)
        #expect(text == #"{"host":"h","by":"cart","when":"now","id":"a.b.7","value":{"price": 1.50}}"#)
        #expect(try Envelope(reading: envelope.bytes) == envelope)
        #expect(try Envelope(reading: Array("[1,2]".utf8)).value.text == "[1,2]")
        #expect(throws: Obstacle.self) { try Envelope(reading: Array("no".utf8)) }
    }
}
