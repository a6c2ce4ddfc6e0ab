// Sends older events from the journal to one subscription. It needs this if it was away longer than memory
// remembers, or if it is told all and there was no room. With `latest`, the keys are gathered first, because
// each is sent once. With `all`, every event is sent as the journal has it.

import PlugboardMemory
import PlugboardJournal
import PlugboardWire

/// A replay in progress. Owned by its subscription's backlog.
final class Replay {
    let number: UInt64
    let patterns: [[UInt8]]
    /// The last revision that the observer knows, and how many events of the next one it knows.
    let after: UInt64
    let skipping: Int
    /// Later events are sent as they happen.
    let upTo: UInt64
    /// Keys are owed as they are read, and sent when all is read.
    let gathers: Bool
    /// Where the next piece begins.
    var place: ReadPlace
    /// The next piece was requested, or will be.
    var isReading = true
    /// The hashes of keys that no longer match or are gone, as the observer was told. A key that matches
    /// again is removed here.
    private var left: Set<UInt64> = []
    /// The last revision of which all was sent.
    private var told: UInt64
    /// The last piece could not be read.
    private(set) var hasFailed = false
    private var piece: ReadPiece?
    private var next = 0
    /// Work space for the author of an event.
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

    /// How many events can be sent now.
    var readyCount: Int { gathers ? 0 : piece.map { $0.entries.count - next } ?? 0 }

    /// The revision of the next event.
    var frontRevision: UInt64 { nextEntry?.record.revision ?? told + 1 }

    /// Lends the work space for an event's author, or takes it back.
    func swapAuthor(_ by: inout ByteBuffer) { swap(&self.by, &by) }

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

    /// Whether an event is news for the observer: if it knows that the key has left or is gone, it isn't told
    /// again that the key has left.
    func isNews(_ telling: Telling, _ kind: KeyEvent, of keyHash: UInt64, _ filter: Filter?) -> Bool {
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

    /// Ends a piece. Returns where the next one begins; nil if it was the last, or if reading has failed.
    func finishPiece() -> ReadPlace? {
        defer { piece = nil }
        hasFailed = piece?.hasFailed ?? false
        return hasFailed ? nil : piece?.next
    }
}

/// The replays in progress, and those whose next piece has to be requested.
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

    /// The pieces to request now.
    mutating func takeRequests(_ matching: borrowing Matching) -> [ReadRequest] {
        defer { toAsk = [] }
        return toAsk.compactMap { number in
            subscriptions[number].flatMap { matching[$0].backlog?.replay?.request }
        }
    }
}

extension ReplayTable {
    private static var always: Invariants { Invariants(of: "ReplayTable") }

    /// Each replay in progress belongs to its subscription.
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
