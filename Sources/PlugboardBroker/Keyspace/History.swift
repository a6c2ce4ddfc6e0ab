// A ring of the last writes, emits and calls: which key, by whom, when, and why. An entry holds only handles.
// What they name is kept until the ring has passed the entry. Whole generations keep it, so that a write
// counts no references. Owned by the keyspace.

import PlugboardMemory
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

/// The last writes of a bus.
struct History: ~Copyable {
    private let inPlace = InPlace()
    /// How many writes are remembered.
    static let writesMax = 65_536

    /// One write, or one emit or call that somebody received.
    struct Entry: BitwiseCopyable {
        let observable: ObservableHandle
        let author: AuthorHandle
        let revision: UInt64
        let cause: WriteCause
        private var note: UInt64

        /// When it was made, in milliseconds since 1970.
        var milliseconds: UInt64 { note >> 16 }
        var operation: Operation {
            Operation(rawValue: UInt8(truncatingIfNeeded: note & Self.operationMask)) ?? .publish
        }
        /// Whether it changed the bus. An emit and a call have the revision of the write before them.
        var isChange: Bool { operation != .emit && operation != .call }
        /// Why the broker made the write; nil if a client made it.
        fileprivate(set) var reason: EventReason? {
            get { EventReason(rawValue: UInt8(truncatingIfNeeded: note & 0xFF) >> Self.operationBits) }
            set { note = note & ~0xE0 | UInt64(newValue?.rawValue ?? 0) << UInt64(Self.operationBits) }
        }
        /// Operation and reason share a byte: there are fewer than 32 operations, and fewer than 8 reasons.
        static let operationBits: UInt8 = 5
        private static let operationMask: UInt64 = 0x1F
        /// How often its chain of causes has come back to its key and its author, as far as that is counted.
        var returns: UInt8 {
            get { UInt8(truncatingIfNeeded: note >> 8) }
            set { note = note & ~0xFF00 | UInt64(newValue) << 8 }
        }

        @inline(__always)
        fileprivate init(
            _ operation: Operation,
            _ observable: ObservableHandle,
            _ author: AuthorHandle,
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
    /// Pages that were never touched take up no memory, so a quiet bus needs little.
    private var entries = List<Entry>(reserving: Int32(writesMax))
    /// How many entries there have been; the number of the next one.
    private(set) var count: UInt64 = 0
    /// How many of them were calls.
    private(set) var callCount: UInt64 = 0
    /// The time of this turn, shifted as in an entry; 0 until the turn's first write.
    private var time: UInt64 = 0
    private let source: TimeSource
    /// All writes after this revision are known, except the broker's own. Those up to it were made before there
    /// was a history, or the newest of them was forgotten last.
    private(set) var completeSince: UInt64 = 0
    /// Numbers the generations, from 1. Each is at least `writesMax` entries long.
    private(set) var generation: UInt32 = 1
    private var generationStart: UInt64 = 0
    /// What the entries of this generation name, of the one before, and of the one that the ring has passed.
    private var recent = Named(generation: 1)
    private var older = Named(generation: 0)
    private var passed = Named(generation: 0)
    /// The author of the newest write of this generation. The generation keeps it already.
    private var newestAuthor = AuthorHandle.none
    private static let drainedPerTurn: UInt64 = 64
    /// `count` at the end of the last turn.
    private var settled: UInt64 = 0

    init(time source: TimeSource) {
        self.source = source
    }

    /// The number of the oldest remembered entry.
    var oldest: UInt64 { count > UInt64(Self.writesMax) ? count - UInt64(Self.writesMax) : 0 }

    /// The revision of the newest write, except the broker's own.
    var lastRevision: UInt64 { count > 0 ? max(completeSince, self[count - 1].revision) : completeSince }

    /// The entry with a number from `oldest` up to, and not including, `count`.
    subscript(number: UInt64) -> Entry {
        get { entries[Int(number & Self.mask)] }
        set { entries[Int(number & Self.mask)] = newValue }
    }

    @inline(__always)
    mutating func append(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ author: AuthorHandle,
        revision: UInt64,
        cause: WriteCause,
        _ authors: inout Authors
    ) {
        if time == 0 { time = source.millisecondsSince1970() << 16 }
        if author != newestAuthor { noteAuthor(author, &authors) }
        let entry = Entry(operation, observable, author, revision: revision, cause: cause, time: time)
        if entries.count < Self.writesMax {
            entries.append(entry)
        } else {
            completeSince = max(completeSince, self[count].revision)
            self[count] = entry
        }
        count &+= 1
    }

    /// Notes that the newest entry is a call.
    mutating func noteCall() { callCount &+= 1 }

    /// Takes in a write of an earlier broker, with its time in milliseconds since 1970. End the turn before
    /// this broker's own writes follow.
    mutating func restore(
        _ operation: Operation,
        _ observable: ObservableHandle,
        _ author: AuthorHandle,
        _ record: RecordLine,
        _ observables: inout ObservableTable,
        _ authors: inout Authors
    ) {
        time = max(1, record.when) << 16
        append(operation, observable, author, revision: record.revision, cause: record.cause, &authors)
        if let reason = record.reason { note(reason) }
        if operation == .delete { keep(observable, &observables) }
    }

    /// Starts after a revision: earlier writes aren't known one by one.
    mutating func begin(after revision: UInt64) {
        completeSince = max(completeSince, revision)
    }

    /// Notes why the broker made the newest write.
    mutating func note(_ reason: EventReason) {
        self[count &- 1].reason = reason
    }

    /// Keeps an observable without a value as long as an entry names it. Call it for each entry that leaves
    /// its observable without a value.
    @inline(__always)
    mutating func keep(_ observable: ObservableHandle, _ observables: inout ObservableTable) {
        observables[observable].lastEntry = UInt32(truncatingIfNeeded: count &- 1)
        if observables[observable].generation == recent.mark { return }
        observables[observable].generation = recent.mark
        recent.observables.append(observable)
    }

    /// The last entry about an observable without a value, if it is still remembered.
    func lastEntry(of observable: ObservableHandle, _ observables: borrowing ObservableTable) -> UInt64? {
        let behind = UInt32(truncatingIfNeeded: count) &- observables[observable].lastEntry
        guard behind >= 1, UInt64(behind) <= count - oldest else { return nil }
        let number = count - UInt64(behind)
        return self[number].observable == observable ? number : nil
    }

    /// Enough was written for another generation, which begins at the end of the turn.
    var isGenerationFull: Bool { count - generationStart >= UInt64(Self.writesMax) }

    /// Ends a turn. Removes observables that nothing needs any more, a few in each turn, so that no turn is
    /// long. A generation keeps at most as many authors, and as many observables, as it has entries. So if
    /// two are visited for each new entry, all are done when the next generation is full.
    mutating func endTurn(removingFrom table: inout ObservableTable, _ authors: inout Authors) {
        time = 0
        if settled == count, passed.isEmpty { return }
        if isGenerationFull { beginGeneration(&table, &authors) }
        drain(count: Self.drainedPerTurn + 2 * (count - settled), &table, &authors)
        settled = count
    }

    private mutating func beginGeneration(_ table: inout ObservableTable, _ authors: inout Authors) {
        drain(count: .max, &table, &authors)
        swap(&passed, &older)
        swap(&older, &recent)
        generation = max(1, generation &+ 1)
        generationStart = count
        recent.generation = generation
        newestAuthor = .none
    }

    @inline(never)
    private mutating func noteAuthor(_ author: AuthorHandle, _ authors: inout Authors) {
        newestAuthor = author
        if authors[author].generation != generation { keep(author, &authors) }
    }

    private mutating func keep(_ author: AuthorHandle, _ authors: inout Authors) {
        authors[author].generation = generation
        authors.retain(author)
        recent.authors.append(author)
    }

    private mutating func drain(
        count: UInt64,
        _ table: inout ObservableTable,
        _ authors: inout Authors
    ) {
        var left = count
        while left > 0, let author = passed.authors.popLast() {
            authors.release(author)
            left -= 1
        }
        while left > 0, let observable = passed.observables.popLast() {
            left -= 1
            // A later entry may name it, too. Then it is also in a later list.
            guard table[observable].generation == passed.mark else { continue }
            table[observable].generation = 0
            if !table[observable].isNeeded { table.remove(observable, &authors) }
        }
    }
}

/// What the entries of one generation name.
private struct Named: ~Copyable {
    /// Usually there are only a few. For these, a warm broker allocates nothing.
    private static let usualCount: Int32 = 32

    var generation: UInt32
    var authors = List<AuthorHandle>(reserving: usualCount)
    var observables = List<ObservableHandle>(reserving: usualCount)

    var isEmpty: Bool { authors.isEmpty && observables.isEmpty }

    /// Its generation in one byte, not 0. Observables are only kept by three generations at a time.
    @inline(__always) var mark: UInt8 { UInt8(generation % 255) + 1 }

    init(generation: UInt32) {
        self.generation = generation
    }
}

extension History {
    private static var always: Invariants { Invariants(of: "History") }

    /// Whatever an entry names exists, and a generation keeps it.
    func checkInvariants(_ living: borrowing Living, _ observables: borrowing ObservableTable)
        throws(BrokenInvariant)
    {
        let lists = named
        var keeping = 0
        for list in lists {
            for observable in list.observables {
                let isThere = living.observables.contains(observable)
                try Self.always.hold("what a generation keeps is there", isThere)
                if observables[observable].generation == list.mark { keeping += 1 }
            }
        }
        var kept = 0
        for observable in living.observables where observables[observable].generation > 0 { kept += 1 }
        try Self.always.agree("a generation keeps what says so, once", kept, keeping)
        let isInTurn = recent.generation == generation && generationStart <= count
        try Self.always.hold("the newest generation is under way", isInTurn)
        try Self.always.hold("writes of a turn were settled", settled == count && time == 0)
        try entriesPointToWhatIsThere(living, authors: Set(lists.flatMap(\.authors)))
    }

    private func entriesPointToWhatIsThere(
        _ living: borrowing Living,
        authors: Set<AuthorHandle>
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

    /// The authors that it keeps, once for each reference.
    var keptAuthors: [AuthorHandle] { named.flatMap(\.authors) }

    private var named: [(mark: UInt8, observables: [ObservableHandle], authors: [AuthorHandle])] {
        [
            (passed.mark, passed.observables.all, passed.authors.all),
            (older.mark, older.observables.all, older.authors.all),
            (recent.mark, recent.observables.all, recent.authors.all),
        ]
    }
}
