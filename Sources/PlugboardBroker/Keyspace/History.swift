// A ring of the last writes, emits and calls: which key, by whom, when, and why. An entry holds only handles.
// What they name is kept until the ring has passed the entry. Whole generations keep it, so that a write
// counts no references. Owned by the keyspace.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

struct History: ~Copyable {
    private let inPlace = InPlace()
    static let writesMax = 65_536

    struct Entry: BitwiseCopyable {
        let observable: ObservableHandle
        let author: AuthorHandle
        let revision: UInt64
        let cause: WriteCause
        fileprivate var note: UInt64

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

        /// Its time is noted when it is appended.
        @inline(__always)
        init(
            _ operation: Operation, _ observable: ObservableHandle, _ author: AuthorHandle,
            _ revision: UInt64,
            _ cause: WriteCause
        ) {
            (self.observable, self.author, self.revision, self.cause) = (observable, author, revision, cause)
            note = UInt64(operation.rawValue)
        }
    }

    private static let mask = UInt64(writesMax - 1)
    /// Pages that were never touched take up no memory, so a quiet bus needs little.
    private var entries = List<Entry>(reserving: Int32(writesMax))
    /// How many entries there have been; the number of the next one.
    private(set) var count: UInt64 = 0
    /// The writes of this broker: neither calls, nor what it found in the journal.
    var writeCount: UInt64 { count - otherCount }
    private var otherCount: UInt64 = 0
    /// The time of this turn, shifted as in an entry; 0 until the turn's first write.
    private var time: UInt64 = 0
    private(set) var seconds: UInt32 = 0
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
    /// Keys without a value that it has let go, and the first of them that nobody has taken.
    private var released = List<ObservableHandle>()
    private var firstReleased = 0
    /// The author of the newest write of this generation. The generation keeps it already.
    private var newestAuthor = AuthorHandle.none
    private static let drainedPerTurn: UInt64 = 64
    private var settled: UInt64 = 0

    init(time source: TimeSource) {
        self.source = source
    }

    var oldest: UInt64 { count > UInt64(Self.writesMax) ? count - UInt64(Self.writesMax) : 0 }

    /// The revision of the newest write, except the broker's own.
    var lastRevision: UInt64 { count > 0 ? max(completeSince, self[count - 1].revision) : completeSince }

    /// The entry with a number from `oldest` up to, and not including, `count`.
    subscript(number: UInt64) -> Entry {
        get { entries[Int(number & Self.mask)] }
        set { entries[Int(number & Self.mask)] = newValue }
    }

    var milliseconds: UInt64 { time >> 16 }

    /// Call before a write. The first one of a turn reads the clock.
    @inline(__always)
    mutating func readTime() {
        if time == 0 { setTime(source.millisecondsSince1970()) }
    }

    /// Until the end of the turn it is as late as an earlier broker's record says.
    mutating func setTime(_ milliseconds: UInt64) {
        time = max(1, milliseconds) << 16
        seconds = UInt32(clamping: milliseconds / 1000)
    }

    @inline(__always)
    mutating func append(_ entry: Entry, _ authors: inout Authors) {
        readTime()
        if entry.author != newestAuthor { setNewestAuthor(entry.author, &authors) }
        var entry = entry
        entry.note |= time
        if entries.count < Self.writesMax {
            entries.append(entry)
        } else {
            completeSince = max(completeSince, self[count].revision)
            self[count] = entry
        }
        count &+= 1
    }

    /// Starts after a revision: earlier writes aren't known one by one.
    mutating func begin(after revision: UInt64) {
        completeSince = max(completeSince, revision)
        otherCount = count
    }

    /// The newest entry is a call.
    mutating func countCall() { otherCount &+= 1 }

    mutating func setReason(_ reason: EventReason) {
        self[count &- 1].reason = reason
    }

    /// Keeps an observable without a value as long as an entry names it. Call it for each entry that leaves
    /// its observable without a value.
    @inline(__always)
    mutating func keep(_ observable: ObservableHandle, _ all: inout Slab<Observable>) {
        all[observable].lastEntry = UInt32(truncatingIfNeeded: count &- 1)
        if all[observable].generation == recent.mark { return }
        all[observable].generation = recent.mark
        recent.observables.append(observable)
    }

    /// The last entry about an observable without a value, if it is still remembered.
    func lastEntry(of observable: ObservableHandle, _ all: borrowing Slab<Observable>) -> UInt64? {
        let behind = UInt32(truncatingIfNeeded: count) &- all[observable].lastEntry
        guard behind >= 1, UInt64(behind) <= count - oldest else { return nil }
        let number = count - UInt64(behind)
        return self[number].observable == observable ? number : nil
    }

    /// Enough was written for another generation, which begins at the end of the turn.
    var isGenerationFull: Bool { count - generationStart >= UInt64(Self.writesMax) }

    /// Ends a turn. Lets go of what the ring has passed, a few in each turn, so that no turn is long. A generation
    /// keeps at most as many authors, and as many observables, as it has entries. So if two are visited for each
    /// new entry, all are done when the next generation is full.
    mutating func endTurn(_ all: inout Slab<Observable>, _ authors: inout Authors) {
        time = 0
        if settled == count, passed.isEmpty { return }
        if isGenerationFull { beginGeneration(&all, &authors) }
        drain(count: Self.drainedPerTurn + 2 * (count - settled), &all, &authors)
        settled = count
    }

    /// A key without a value that it has let go, the oldest first.
    @inline(__always)
    mutating func takeReleased() -> ObservableHandle? {
        if released.isEmpty { return nil }
        if firstReleased == released.count {
            released.removeAll(keeping: Int(Self.drainedPerTurn))
            firstReleased = 0
            return nil
        }
        firstReleased += 1
        return released[firstReleased - 1]
    }

    private mutating func beginGeneration(_ all: inout Slab<Observable>, _ authors: inout Authors) {
        drain(count: .max, &all, &authors)
        swap(&passed, &older)
        swap(&older, &recent)
        generation = max(1, generation &+ 1)
        generationStart = count
        recent.generation = generation
        newestAuthor = .none
    }

    @inline(never)
    private mutating func setNewestAuthor(_ author: AuthorHandle, _ authors: inout Authors) {
        newestAuthor = author
        if authors[author].generation == generation { return }
        authors[author].generation = generation
        authors.retain(author)
        recent.authors.append(author)
    }

    private mutating func drain(count: UInt64, _ all: inout Slab<Observable>, _ authors: inout Authors) {
        var left = count
        while left > 0, let author = passed.authors.popLast() {
            authors.release(author)
            left -= 1
        }
        while left > 0, let observable = passed.observables.popLast() {
            left -= 1
            // A later entry may name it, too. Then it is also in a later list.
            guard all[observable].generation == passed.mark else { continue }
            all[observable].generation = 0
            if !all[observable].hasValue { released.append(observable) }
        }
    }
}

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

extension History: Checked {
    func checkInvariants(_ all: borrowing Slab<Observable>) throws(BrokenInvariant) {
        let lists = named
        var keeping = 0
        for list in lists {
            for observable in list.observables {
                let isThere = all.contains(observable)
                try Self.always.hold("what a generation keeps is there", isThere)
                if all[observable].generation == list.mark { keeping += 1 }
            }
        }
        var kept = 0
        all.forEach { if all[$0].generation > 0 { kept += 1 } }
        try Self.always.agree("a generation keeps what says so, once", kept, keeping)
        let isInTurn = recent.generation == generation && generationStart <= count
        try Self.always.hold("the newest generation is under way", isInTurn)
        try Self.always.hold("writes of a turn were settled", settled == count && time == 0)
        try entriesPointToWhatIsThere(all, authors: Set(lists.flatMap(\.authors)))
    }

    private func entriesPointToWhatIsThere(
        _ all: borrowing Slab<Observable>, authors: Set<AuthorHandle>
    ) throws(BrokenInvariant) {
        var revision: UInt64 = 0
        for number in oldest..<count {
            let entry = self[number]
            let isThere = all.contains(entry.observable) && authors.contains(entry.author)
            try Self.always.hold("what an entry points to is there", isThere, of: "entry \(number)")
            try Self.always.hold("revisions ascend", entry.revision >= revision, of: "entry \(number)")
            revision = entry.revision
        }
    }

    var keptAuthors: [AuthorHandle] { named.flatMap(\.authors) }

    private var named: [(mark: UInt8, observables: [ObservableHandle], authors: [AuthorHandle])] {
        [
            (passed.mark, passed.observables.all, passed.authors.all),
            (older.mark, older.observables.all, older.authors.all),
            (recent.mark, recent.observables.all, recent.authors.all),
        ]
    }
}

// Follows causes back through the history. Revisions rise along the ring, so a revision is looked for first
// where it should be, and then by binary search. Several entries may share a revision: the writes of a batch,
// and the emits that came after a write.

extension History {
    static let returnStepsMax = 32
    static let sharedMax: UInt64 = 64

    /// The number of the first entry after a revision, before `limit`; that or `count` if there is none.
    func first(after revision: UInt64, before limit: UInt64? = nil) -> UInt64 {
        var (low, high) = (oldest, limit ?? count)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].revision <= revision { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The last entry of a revision before the entry `limit`.
    func last(of revision: UInt64, before limit: UInt64) -> UInt64? {
        guard limit > oldest, revision <= self[limit - 1].revision else { return nil }
        // Usually each entry has a revision of its own.
        let behind = self[limit - 1].revision - revision
        let expected = limit - 1 &- behind
        if behind < limit - oldest, self[expected].revision == revision,
            expected + 1 == limit || self[expected + 1].revision != revision
        {
            return expected
        }
        let next = first(after: revision, before: limit)
        return next > oldest && self[next - 1].revision == revision ? next - 1 : nil
    }

    /// `last` and the entries before it that share its revision, newest first; at most `sharedMax`.
    func shared(with last: UInt64) -> ReversedCollection<ClosedRange<UInt64>> {
        var first = last
        let end = max(oldest, last - min(last, Self.sharedMax - 1))
        while first > end, self[first - 1].revision == self[last].revision { first -= 1 }
        return (first...last).reversed()
    }

    /// The nearest entry among an entry's causes that has the same key and the same author.
    func returning(to number: UInt64) -> UInt64? {
        let start = self[number]
        var current = number
        for _ in 0..<Self.returnStepsMax {
            guard let last = cause(of: current) else { return nil }
            let candidates = shared(with: last)
            let same = candidates.first {
                self[$0].observable == start.observable && self[$0].author == start.author
            }
            if let same { return same }
            current = follow(candidates, else: last)
        }
        return nil
    }

    /// The steps from an entry back to one that `returning` found, both included.
    func loop(from number: UInt64, to end: UInt64) -> [UInt64] {
        var steps = [number]
        while let current = steps.last, current > end, steps.count <= Self.returnStepsMax,
            let last = cause(of: current)
        {
            let candidates = shared(with: last)
            steps.append(candidates.contains(end) ? end : follow(candidates, else: last))
        }
        return steps
    }

    func cause(of number: UInt64) -> UInt64? {
        self[number].cause.revision.flatMap { last(of: $0, before: number) }
    }

    /// The entry among these that names a cause itself.
    private func follow(_ candidates: ReversedCollection<ClosedRange<UInt64>>, else last: UInt64) -> UInt64 {
        candidates.first { self[$0].cause.isNamed } ?? last
    }
}

// The keys of recent emits, each with the revision of the bus at that time. With them, an observer that was
// away learns how many emits it missed. If there are too many, the older half is forgotten. What always holds:
// revisions ascend, and all emits from `completeSince` on are here.

struct EmitLog: ~Copyable {
    /// Emits in a row to the same key at the same revision are one entry.
    static let entriesMax = 65_536
    static let keyBytesMax = 2_097_152

    private struct Entry: BitwiseCopyable {
        let revision: UInt64
        /// Where its key ends. The key begins where the one before ends.
        var keyEnd: UInt32
        var times: UInt32 = 1
    }

    private var entries = List<Entry>()
    private var keys = ByteBuffer()
    /// All emits that carry this revision or a later one are known.
    private(set) var completeSince: UInt64 = 0

    /// Starts after the last revision of an earlier broker, whose emits are unknown.
    mutating func begin(after revision: UInt64) { completeSince = revision + 1 }

    mutating func append(_ key: Span<UInt8>, at revision: UInt64) {
        let last = entries.count - 1
        if last >= 0, entries[last].revision == revision, entries[last].times < .max,
            self.key(last).isEqual(to: key)
        {
            entries[last].times += 1
            return
        }
        while entries.count == Self.entriesMax || keys.count + key.count > Self.keyBytesMax {
            forget((entries.count + 1) / 2)
        }
        keys.append(key)
        entries.append(Entry(revision: revision, keyEnd: UInt32(truncatingIfNeeded: keys.count)))
    }

    /// The places of the entries that carry this revision or a later one.
    func places(from revision: UInt64) -> Range<Int> {
        var start = entries.count
        while start > 0, entries[start - 1].revision >= revision { start -= 1 }
        return start..<entries.count
    }

    func times(_ place: Int) -> UInt64 { UInt64(entries[place].times) }

    @_lifetime(borrow self)
    func key(_ place: Int) -> Span<UInt8> {
        let start = place == 0 ? 0 : Int(entries[place - 1].keyEnd)
        return keys.bytes[start..<Int(entries[place].keyEnd)]
    }

    private mutating func forget(_ count: Int) {
        let last = entries[count - 1]
        completeSince = max(completeSince, last.revision + 1)
        entries.removeFirst(count)
        keys.removeFirst(Int(last.keyEnd))
        for place in entries.indices { entries[place].keyEnd -= last.keyEnd }
    }
}
