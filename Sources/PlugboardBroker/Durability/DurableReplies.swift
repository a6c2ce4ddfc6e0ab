// Replies to durable writes, which wait until the disk has what they promise. Many wait for
// one sync, which is asked for when those are there again whom the last one answered: one that
// began at once would bring few of them to disk, and let all others wait for the next.
// Owned by the hub; a client that has left by then gets none.

import PlugboardMemory
import PlugboardJournal
import PlugboardWire

/// The replies that wait, in the order of what they wait for.
struct DurableReplies: ~Copyable {
    /// One reply. Its `id` follows that of the one before.
    struct Waiting: BitwiseCopyable {
        let mark: JournalMark
        let client: UInt64
        let slot: Int32
        private let operationNumber: UInt8
        let idCount: UInt8
        /// Somebody wants to hear of it.
        let isTold: Bool
        let revision: UInt64

        var operation: Operation { Operation(rawValue: operationNumber) ?? .publish }

        init(
            _ operation: Operation,
            client: UInt64,
            isTold: Bool,
            slot: Int,
            idCount: Int,
            revision: UInt64,
            mark: JournalMark
        ) {
            operationNumber = operation.rawValue
            self.client = client
            self.isTold = isTold
            self.slot = Int32(truncatingIfNeeded: slot)
            self.idCount = UInt8(truncatingIfNeeded: idCount)
            self.revision = revision
            self.mark = mark
        }
    }

    /// Without another write for so long, nobody is waited for any more.
    private static let quietNanoseconds: UInt64 = 100_000
    /// As long as writes come, they are gathered for this long and no longer.
    private static let gatheringNanosecondsMax: UInt64 = 2_000_000

    private var waiting = List<Waiting>()
    private var ids = ByteBuffer()
    /// The first that still waits.
    private var first = 0
    /// Some came since the last sync was asked for.
    private(set) var wantsSync = false

    /// Those that the last sync answered, and those that waited still.
    private var expected = 0
    /// Since when writes are gathered, when the last of them was seen, and how many there were then.
    private var gathering: (since: UInt64, last: UInt64, count: Int) = (0, 0, 0)

    init() {}

    var isEmpty: Bool { first == waiting.count }
    /// How many wait.
    var count: Int { waiting.count - first }

    /// Whether it is time to ask for a sync: nobody is expected any more.
    mutating func hasGathered(at now: UInt64) -> Bool {
        if count >= expected { return true }
        if gathering.since == 0 { gathering.since = now }
        if gathering.count != count { (gathering.last, gathering.count) = (now, count) }
        return now - gathering.last >= Self.quietNanoseconds
            || now - gathering.since >= Self.gatheringNanosecondsMax
    }

    /// So many were answered: they may write again.
    mutating func noteAnswered(_ answered: Int) {
        expected = answered + count
    }

    mutating func add(_ reply: Waiting, id: Span<UInt8>) {
        waiting.append(reply)
        ids.append(id)
        wantsSync = true
    }

    /// A sync is under way for all that wait by now.
    mutating func noteAsked() {
        wantsSync = false
        gathering = (0, 0, 0)
    }

    /// Takes the next one whose promise holds once everything up to `mark` is on disk, and copies
    /// its `id`.
    mutating func next(upTo mark: JournalMark, id: inout ByteBuffer) -> Waiting? {
        guard first < waiting.count, waiting[first].mark <= mark else { return nil }
        let reply = waiting[first]
        first += 1
        id.removeAll()
        id.append(ids.bytes[..<Int(reply.idCount)])
        ids.removeFirst(Int(reply.idCount))
        if isEmpty {
            first = 0
            waiting.removeAll()
        }
        return reply
    }
}

extension DurableReplies {
    private static var always: Invariants { Invariants(of: "DurableReplies") }

    /// Each reply has its `id` and comes in its turn, and each session counts its own.
    func checkInvariants(
        _ living: borrowing Living,
        _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        var size = 0
        var waitingFor: [UInt64: Int] = [:]
        for place in first..<max(first, waiting.count) {
            let reply = waiting[place]
            size += Int(reply.idCount)
            waitingFor[reply.client, default: 0] += 1
            let isInTurn = place == first || waiting[place - 1].mark <= reply.mark
            try Self.always.hold("replies wait in their order", isInTurn, of: "place \(place)")
        }
        try Self.always.agree("its ids are those of its replies", ids.count, size)
        for session in living.sessions {
            let (client, count) = (sessions[session].client, Int(sessions[session].awaitedWrites))
            let found = waitingFor[client] ?? 0
            try Self.always.agree("a session counts its replies", count, found, of: "client \(client)")
        }
    }
}
