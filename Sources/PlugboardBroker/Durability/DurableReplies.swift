// Replies to durable writes, which wait until the disk has the writes. Many replies wait for one sync. It
// begins when the clients that the last sync answered have written again: a sync that began at once would
// serve few of them, and all others would have to wait for the next. Owned by `Durability`. What always
// holds: replies wait in the order of their writes.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

struct DurableReplies: ~Copyable {
    /// One reply. Its `id` is in `texts`, after those of the reply before it, and then its sum if it is of an
    /// `add`.
    struct Waiting: BitwiseCopyable {
        let session: SessionHandle
        let operation: Operation
        /// Whether the client wants a reply.
        let isTold: Bool
        let revision: UInt64
        fileprivate var mark: JournalMark = 0
        fileprivate var (idCount, sumCount) = (0, 0)

        init(_ operation: Operation, from session: SessionHandle, isTold: Bool, revision: UInt64) {
            (self.operation, self.session) = (operation, session)
            (self.isTold, self.revision) = (isTold, revision)
        }
    }

    /// If no further write comes for this long, the sync begins.
    private static let quietNanoseconds: UInt64 = 100_000
    /// Writes are gathered for at most this long, even if more of them come.
    private static let gatheringNanosecondsMax: UInt64 = 2_000_000

    private var waiting = List<Waiting>()
    private var texts = ByteBuffer()
    /// Whether replies were added since the last sync was asked for.
    private(set) var wantsSync = false

    /// How many durable writes to expect: as many as waited when the last sync was done.
    private var expected = 0
    /// When the gathering began, when the last write was seen, and how many there were then.
    private var gathering: (since: UInt64, last: UInt64, count: Int) = (0, 0, 0)

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    /// Whether it is time to ask for a sync, because no further write is expected soon.
    mutating func hasGathered(at now: UInt64) -> Bool {
        if count >= expected { return true }
        if gathering.since == 0 { gathering.since = now }
        if gathering.count != count { (gathering.last, gathering.count) = (now, count) }
        return now - gathering.last >= Self.quietNanoseconds
            || now - gathering.since >= Self.gatheringNanosecondsMax
    }

    /// Keeps a reply until the disk has everything up to `mark`.
    mutating func add(_ reply: Waiting, upTo mark: JournalMark, id: Span<UInt8>, sum: Span<UInt8>) {
        var reply = reply
        (reply.mark, reply.idCount, reply.sumCount) = (mark, id.count, sum.count)
        waiting.append(reply)
        texts.append(id)
        texts.append(sum)
        wantsSync = true
    }

    /// Notes that a sync was asked for. It covers all waiting replies.
    mutating func countAsked() {
        wantsSync = false
        gathering = (0, 0, 0)
    }

    /// Everything up to `mark` is on disk. Gives each reply that waited for that to `body`, with its `id` and its sum, and
    /// removes them. Those whose replies are sent now will probably write again.
    mutating func take(
        upTo mark: JournalMark, _ body: (Waiting, _ id: Span<UInt8>, _ sum: Span<UInt8>) -> Void
    ) {
        expected = count
        var (done, start) = (0, 0)
        while done < count, waiting[done].mark <= mark {
            let reply = waiting[done]
            let (sum, end) = (start + reply.idCount, start + reply.idCount + reply.sumCount)
            body(reply, texts.bytes[start..<sum], texts.bytes[sum..<end])
            (done, start) = (done + 1, end)
        }
        waiting.removeFirst(done)
        texts.removeFirst(start)
    }
}

extension DurableReplies: Checked {
    func checkInvariants(_ sessions: borrowing SessionTable) throws(BrokenInvariant) {
        var size = 0
        var waitingFor: [SessionHandle: Int] = [:]
        for place in waiting.indices {
            let reply = waiting[place]
            size += reply.idCount + reply.sumCount
            waitingFor[reply.session, default: 0] += 1
            let isInTurn = place == 0 || waiting[place - 1].mark <= reply.mark
            try Self.always.hold("replies wait in their order", isInTurn, of: "place \(place)")
        }
        try Self.always.agree("its texts are those of its replies", texts.count, size)
        for session in sessions.handles {
            let (client, count) = (sessions[session].client, Int(sessions[session].awaitedWrites))
            let found = waitingFor[session] ?? 0
            try Self.always.agree("a session counts its replies", count, found, of: "client \(client)")
        }
    }
}
