// What one subscription is told again from the journal: who came back and missed more than
// memory knows, and who is told all and had no room for it. Of "latest" the keys are
// gathered first, since each is told once; of "all" every event is told as it stands there.

import PlugboardMemory
import PlugboardJournal
import PlugboardWire

/// A replay under way. Owned by its subscription's backlog.
final class Replay {
    let number: UInt64
    let patterns: [[UInt8]]
    /// What was known before, and how many events of the next revision.
    let after: UInt64
    let skipping: Int
    /// What comes later is told as it happens.
    let upTo: UInt64
    /// Keys are owed as they are read, and told when all is read.
    let gathers: Bool
    /// Where the next piece begins.
    var place: ReadPlace
    /// The next piece was asked for, or is to be.
    var isReading = true
    /// Keys that were told to match no longer, or to be gone, by their hash, until they match again.
    private var left: Set<UInt64> = []
    /// All up to it was told.
    private var told: UInt64
    private var piece: ReadPiece?
    private var next = 0
    /// What every event of a key begins with, and who wrote it: work space.
    private var keyPrefix = ByteBuffer()
    private var by = ByteBuffer()

    init(
        _ number: UInt64,
        from place: ReadPlace,
        patterns: [[UInt8]],
        after: UInt64,
        skipping: Int,
        upTo: UInt64,
        gathers: Bool
    ) {
        self.number = number
        self.place = place
        self.patterns = patterns
        self.after = after
        told = after
        self.skipping = skipping
        self.upTo = upTo
        self.gathers = gathers
    }

    var request: ReadRequest {
        ReadRequest(
            number: number,
            place: place,
            after: after,
            skipping: skipping,
            upTo: upTo,
            patterns: patterns
        )
    }

    /// Events that can be told now.
    var readyCount: Int { gathers ? 0 : piece.map { $0.entries.count - next } ?? 0 }

    /// The revision of what comes next.
    var frontRevision: UInt64 { nextEntry?.record.revision ?? told + 1 }

    /// Lends the work space for an event's key and author, or takes it back.
    func swapTexts(_ keyPrefix: inout ByteBuffer, _ by: inout ByteBuffer) {
        swap(&self.keyPrefix, &keyPrefix)
        swap(&self.by, &by)
    }

    /// The key of the next event.
    func withFrontKey<Result>(_ body: (Span<UInt8>) -> Result) -> Result? {
        guard let entry = nextEntry, let bytes = piece?.bytes else { return nil }
        return body(entry.record.key.bytes(of: entry.place.bytes(of: bytes.span)))
    }

    /// Takes a piece that was read.
    func take(_ piece: ReadPiece) {
        isReading = false
        self.piece = piece
        next = 0
    }

    /// Takes the next event out of the piece.
    func popNext() -> (entry: ReadPiece.Entry, bytes: [UInt8])? {
        guard let entry = nextEntry, let piece else { return nil }
        next += 1
        if !gathers { told = entry.record.revision }
        return (entry, piece.bytes)
    }

    /// Whether an observer is told an event of a key: who knows that the key has left, or is gone, isn't
    /// told again that it has left.
    func isNews(_ telling: Telling, _ kind: Event, of keyHash: UInt64, _ filter: Filter?) -> Bool {
        guard filter?.conditions != nil else { return true }
        if kind != .delete, telling != .leaving {
            left.remove(keyHash)
            return true
        }
        return left.insert(keyHash).inserted || kind == .delete
    }

    private var nextEntry: ReadPiece.Entry? {
        guard let piece, next < piece.entries.count else { return nil }
        return piece.entries[next]
    }

    /// What comes after the piece, which is done with.
    func finishPiece() -> (next: ReadPlace?, hasFailed: Bool) {
        defer { piece = nil }
        return (piece?.next, piece?.hasFailed ?? false)
    }
}

/// The replays under way, and those whose next piece is to be asked for.
struct ReplayTable: ~Copyable {
    private(set) var subscriptions: [UInt64: SubscriptionHandle] = [:]
    private var toAsk: [UInt64] = []
    private var lastNumber: UInt64 = 0

    init() {}

    var hasRequests: Bool { !toAsk.isEmpty }

    mutating func begin(_ subscription: SubscriptionHandle) -> UInt64 {
        lastNumber += 1
        subscriptions[lastNumber] = subscription
        toAsk.append(lastNumber)
        return lastNumber
    }

    mutating func ask(_ number: UInt64) {
        toAsk.append(number)
    }

    mutating func end(_ number: UInt64) {
        subscriptions[number] = nil
    }

    /// What is to be asked for now.
    mutating func takeRequests(_ matching: borrowing Matching) -> [ReadRequest] {
        defer { toAsk = [] }
        return toAsk.compactMap { number in
            subscriptions[number].flatMap { matching[$0].backlog?.replay?.request }
        }
    }
}

extension ReplayTable {
    private static var always: Invariants { Invariants(of: "ReplayTable") }

    /// Each replay under way is its subscription's.
    func checkInvariants(
        _ living: borrowing Living,
        _ matching: borrowing Matching
    ) throws(BrokenInvariant) {
        var replaying = 0
        for subscription in living.subscriptions
        where matching[subscription].backlog?.replay != nil { replaying += 1 }
        for (number, subscription) in subscriptions {
            let isThere = living.subscriptions.contains(subscription)
            try Self.always.hold("who is told again is there", isThere, of: "replay \(number)")
            let isOwn = matching[subscription].backlog?.replay?.number == number
            try Self.always.hold("a replay is its subscription's", isOwn, of: "replay \(number)")
        }
        try Self.always.agree("it knows all replays", subscriptions.count, replaying)
    }
}
