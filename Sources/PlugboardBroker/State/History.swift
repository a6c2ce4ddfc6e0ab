// What was written last, in a ring: which key, by whom, when, because of what. An entry
// only points: whatever it points to is kept until the ring has passed it, which is seen
// to in generations, so that a write counts no references. Used by the hub alone.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

/// The last writes of a bus.
struct History: ~Copyable {
    /// How many writes are remembered.
    static let writesMax = 65_536

    /// One write, or one emit that somebody was told of.
    struct Entry: BitwiseCopyable {
        let observable: ObservableReference
        let author: AuthorReference
        let revision: UInt64
        let cause: WriteCause
        private var note: UInt64

        /// When it was made, in milliseconds since 1970.
        var milliseconds: UInt64 { note >> 16 }
        var operation: Operation {
            Operation(rawValue: UInt8(truncatingIfNeeded: note & Self.operationMask)) ?? .publish
        }
        /// Why the broker made it, where it was not the author itself.
        fileprivate(set) var reason: EventReason? {
            get { EventReason(rawValue: UInt8(truncatingIfNeeded: note & 0xFF) >> Self.operationBits) }
            set { note = note & ~0xE0 | UInt64(newValue?.rawValue ?? 0) << UInt64(Self.operationBits) }
        }
        /// A byte for both: there are fewer than 32 operations, and fewer than 8 reasons.
        static let operationBits: UInt8 = 5
        private static let operationMask: UInt64 = 0x1F
        /// How often its chain of causes has come back to its key and its writer, as far as that
        /// is counted.
        var returns: UInt8 {
            get { UInt8(truncatingIfNeeded: note >> 8) }
            set { note = note & ~0xFF00 | UInt64(newValue) << 8 }
        }

        @inline(__always)
        fileprivate init(
            _ operation: Operation,
            _ observable: ObservableReference,
            _ author: AuthorReference,
            revision: UInt64,
            cause: WriteCause,
            time: UInt64
        ) {
            self.observable = observable
            self.author = author
            self.revision = revision
            self.cause = cause
            note = time | UInt64(operation.rawValue)
        }
    }

    private static let mask = UInt64(writesMax - 1)
    private let entries: UnsafeMutablePointer<Entry>
    /// How many there have been; the number of the next one.
    private(set) var count: UInt64 = 0
    /// The time of this turn, shifted into its place in an entry; 0 until somebody writes.
    private var time: UInt64 = 0
    private let source: TimeSource
    /// Writes up to this revision were made before there was a history.
    private(set) var beginning: UInt64 = 0
    /// Numbers the generations, from 1. Each is at least `writesMax` entries long.
    private(set) var generation: UInt32 = 1
    private var generationStart: UInt64 = 0
    /// What the entries of this generation point to, those of the one before, and those of
    /// the one before that, which the ring has passed.
    private var recent = Named(generation: 1)
    private var older = Named(generation: 0)
    private var passed = Named(generation: 0)
    private static let drainedPerTurn: UInt64 = 64
    /// The count at the end of the last turn.
    private var settled: UInt64 = 0

    init(time source: TimeSource) {
        self.source = source
        // Untouched pages cost nothing, so a quiet bus pays for what it writes.
        entries = .allocate(capacity: Self.writesMax)
    }

    deinit {
        entries.deallocate()
    }

    /// The number of the oldest entry that is still known.
    var oldest: UInt64 { count > UInt64(Self.writesMax) ? count - UInt64(Self.writesMax) : 0 }

    /// Of each revision after this one all writes are known, the broker's own left out.
    var completeSince: UInt64 { oldest > 0 ? max(beginning, self[oldest].revision) : beginning }

    /// The revision of the newest write, the broker's own left out.
    var lastRevision: UInt64 { count > 0 ? max(beginning, self[count - 1].revision) : beginning }

    /// The entry with a number from `oldest` up to, and not including, `count`.
    subscript(number: UInt64) -> Entry {
        get { entries[Int(number & Self.mask)] }
        set { entries[Int(number & Self.mask)] = newValue }
    }

    @inline(__always)
    mutating func append(
        _ operation: Operation,
        _ observable: ObservableReference,
        _ author: AuthorReference,
        revision: UInt64,
        cause: WriteCause
    ) {
        if time == 0 { time = source.millisecondsSince1970() << 16 }
        if author.pointee.generation != generation { keep(author) }
        let entry = Entry(operation, observable, author, revision: revision, cause: cause, time: time)
        (entries + Int(truncatingIfNeeded: count & Self.mask)).initialize(to: entry)
        count &+= 1
    }

    /// Takes a write of an earlier broker, at its time in milliseconds since 1970. The turn has to
    /// be ended before this one's own follow.
    mutating func restore(
        _ operation: Operation,
        _ observable: ObservableReference,
        _ author: AuthorReference,
        _ record: RecordLine
    ) {
        time = max(1, record.when) << 16
        append(operation, observable, author, revision: record.revision, cause: record.cause)
        if let reason = record.reason { note(reason) }
        if operation == .delete { keep(observable) }
    }

    /// Says up to which revision an earlier broker's writes are not known one by one.
    mutating func begin(after revision: UInt64) {
        beginning = revision
    }

    /// Says of the newest entry why the broker made that write.
    mutating func note(_ reason: EventReason) {
        self[count &- 1].reason = reason
    }

    /// Keeps an observable that has no value for as long as an entry points to it. Call it
    /// with each entry that leaves its observable without one.
    @inline(__always)
    mutating func keep(_ observable: ObservableReference) {
        observable.pointee.lastEntry = UInt32(truncatingIfNeeded: count &- 1)
        if observable.pointee.generation == generation { return }
        observable.pointee.generation = generation
        recent.observables.append(observable)
    }

    /// The last entry about an observable without a value, if it is still known.
    func lastEntry(of observable: ObservableReference) -> UInt64? {
        let behind = UInt32(truncatingIfNeeded: count) &- observable.pointee.lastEntry
        guard behind >= 1, UInt64(behind) <= count - oldest else { return nil }
        let number = count - UInt64(behind)
        return self[number].observable == observable ? number : nil
    }

    /// So much was written that the next turn's end begins another generation.
    var isGenerationFull: Bool { count - generationStart >= UInt64(Self.writesMax) }

    /// Ends a turn. Observables that nothing needs any more are removed from their table, a
    /// few at a time so that no turn is long.
    mutating func endTurn(removingFrom table: inout ObservableTable) {
        time = 0
        if settled == count, passed.isEmpty { return }
        if isGenerationFull { beginGeneration(&table) }
        drain(count: Self.drainedPerTurn + 4 * (count - settled), &table)
        settled = count
    }

    private mutating func beginGeneration(_ table: inout ObservableTable) {
        drain(count: .max, &table)
        swap(&passed, &older)
        swap(&older, &recent)
        generation = max(1, generation &+ 1)
        generationStart = count
        recent.generation = generation
    }

    private mutating func keep(_ author: AuthorReference) {
        author.pointee.generation = generation
        Author.retain(author)
        recent.authors.append(author)
    }

    private mutating func drain(count: UInt64, _ table: inout ObservableTable) {
        var left = count
        while left > 0, let author = passed.authors.popLast() {
            Author.release(author)
            left -= 1
        }
        while left > 0, let observable = passed.observables.popLast() {
            left -= 1
            // Another entry may have come since: then it stands in a later list, too.
            guard observable.pointee.generation == passed.generation else { continue }
            observable.pointee.generation = 0
            if !observable.pointee.isNeeded { table.remove(observable) }
        }
    }
}

/// What the entries of one generation point to.
private struct Named: ~Copyable {
    /// Few of either are usual, and those are to need no memory once the broker is warm.
    private static let usualCount: Int32 = 32

    var generation: UInt32
    var authors = List<AuthorReference>(reserving: usualCount)
    var observables = List<ObservableReference>(reserving: usualCount)

    var isEmpty: Bool { authors.isEmpty && observables.isEmpty }

    init(generation: UInt32) {
        self.generation = generation
    }

    deinit {
        for author in authors.elements { Author.release(author) }
    }
}

extension History {
    private static var always: Invariants { Invariants(of: "History") }

    /// Whatever an entry points to is there, and kept by a generation.
    func checkInvariants(_ living: borrowing Living) throws(BrokenInvariant) {
        let lists = named
        var keeping = 0
        for list in lists {
            for observable in list.observables {
                let isThere = living.observables.contains(observable)
                try Self.always.hold("what a generation keeps is there", isThere)
                if observable.pointee.generation == list.generation { keeping += 1 }
            }
        }
        var kept = 0
        for observable in living.observables where observable.pointee.generation > 0 { kept += 1 }
        try Self.always.agree("a generation keeps what says so, once", kept, keeping)
        let isInTurn = recent.generation == generation && generationStart <= count
        try Self.always.hold("the newest generation is under way", isInTurn)
        try Self.always.hold("writes of a turn were settled", settled == count && time == 0)
        try entriesPointToWhatIsThere(living, authors: Set(lists.flatMap(\.authors)))
    }

    private func entriesPointToWhatIsThere(
        _ living: borrowing Living,
        authors: Set<AuthorReference>
    ) throws(BrokenInvariant) {
        var revision: UInt64 = 0
        for number in oldest..<count {
            let entry = self[number]
            let isThere = living.observables.contains(entry.observable) && authors.contains(entry.author)
            try Self.always.hold("what an entry points to is there", isThere, of: "entry \(number)")
            try Self.always.hold("revisions ascend", entry.revision >= revision, of: "entry \(number)")
            revision = entry.revision
        }
    }

    /// The authors that it keeps, as often as it does.
    var keptAuthors: [AuthorReference] { named.flatMap(\.authors) }

    private var named: [(generation: UInt32, observables: [ObservableReference], authors: [AuthorReference])]
    {
        [
            (passed.generation, Array(passed.observables.elements), Array(passed.authors.elements)),
            (older.generation, Array(older.observables.elements), Array(older.authors.elements)),
            (recent.generation, Array(recent.observables.elements), Array(recent.authors.elements)),
        ]
    }
}
