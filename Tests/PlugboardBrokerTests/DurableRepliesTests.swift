import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

/// When the journal is asked for a sync, because durable writes wait for it.
@Suite("Durable replies", .computing)
struct DurableRepliesTests {
    private static func add(_ count: Int, to replies: inout DurableReplies, mark: UInt64) {
        for _ in 0..<count {
            let reply = DurableReplies.Waiting(
                mark: mark,
                session: .none,
                operation: .publish,
                idCount: 0,
                sumCount: 0,
                isTold: true,
                revision: mark
            )
            replies.add(reply, id: Span(), sum: Span())
        }
    }

    private static func answer(_ replies: inout DurableReplies, upTo mark: UInt64) {
        var id = ByteBuffer()
        var sum = ByteBuffer()
        var count = 0
        while replies.next(upTo: mark, id: &id, sum: &sum) != nil { count += 1 }
        replies.expectWrites(count)
    }

    @Test("the first writes wait for nobody")
    func first() {
        var replies = DurableReplies()
        Self.add(1, to: &replies, mark: 1)
        let hasGathered = replies.hasGathered(at: 1)
        #expect(hasGathered)
    }

    @Test("those whom the last sync answered are waited for, with those who had waited meanwhile")
    func together() {
        var replies = DurableReplies()
        Self.add(2, to: &replies, mark: 1)
        replies.countAsked()
        Self.add(1, to: &replies, mark: 2)
        Self.answer(&replies, upTo: 1)
        var answers = [replies.hasGathered(at: 1_000)]
        for mark in [UInt64(3), 4] {
            Self.add(1, to: &replies, mark: mark)
            answers.append(replies.hasGathered(at: 1_000 * mark))
        }
        #expect(answers == [false, false, true])
    }

    @Test("nobody is waited for who doesn't write soon")
    func quiet() {
        var replies = DurableReplies()
        Self.add(8, to: &replies, mark: 1)
        replies.countAsked()
        Self.answer(&replies, upTo: 1)
        Self.add(1, to: &replies, mark: 2)
        var answers: [Bool] = []
        for now in [UInt64(1_000), 100_999, 101_000] { answers.append(replies.hasGathered(at: now)) }
        #expect(answers == [false, false, true])
    }

    @Test("who trickles in is not waited for without end")
    func trickling() {
        var replies = DurableReplies()
        Self.add(1_000, to: &replies, mark: 1)
        replies.countAsked()
        Self.answer(&replies, upTo: 1)
        var waits = 0
        var now: UInt64 = 1_000
        Self.add(1, to: &replies, mark: 2)
        while !replies.hasGathered(at: now) {
            now += 50_000
            waits += 1
            Self.add(1, to: &replies, mark: 2)
        }
        #expect(waits == 40)
    }
}
