// A ring of the last writes, emits and calls: which key, by whom, when, and why. An entry holds only handles.
// What they name is kept until the ring has passed the entry: the key by the last entry that left it without a
// value, and the author by each run of entries of one author, so that most writes count no references. Owned by the
// keyspace.

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

        var milliseconds: UInt64 { note >> History.timeShift }
        var operation: Operation {
            Operation(rawValue: UInt8(truncatingIfNeeded: note & Self.operationMask)) ?? .publish
        }
        /// Whether it changed the bus. An emit and a call have the revision of the write before them.
        var isChange: Bool { operation != .emit && operation != .call }
        /// Why the broker made the write; nil if a client made it.
        var reason: EventReason? {
            EventReason(rawValue: UInt8(truncatingIfNeeded: note & 0xFF) >> Self.operationBits)
        }
        /// Operation and reason share a byte: there are fewer than 32 operations, and fewer than 8 reasons.
        static let operationBits: UInt8 = 5
        private static let operationMask: UInt64 = 0x1F
        /// How often its chain of causes has come back to its key and its author, as far as that is counted.
        var returns: UInt8 {
            get { UInt8(truncatingIfNeeded: note >> 8) }
            set { note = note & ~0xFF00 | UInt64(newValue) << 8 }
        }
        /// The next entry has another author, so the reference to this one goes with this entry.
        fileprivate static let endsRun: UInt64 = 1 << 16
        /// It left its key without a value. Before it is appended: it may have.
        fileprivate static let keepsKey: UInt64 = 1 << 17

        /// Its time is noted when it is appended.
        @inline(__always)
        init(
            _ operation: Operation, _ observable: ObservableHandle, _ author: AuthorHandle,
            _ revision: UInt64, _ cause: WriteCause, _ reason: EventReason? = nil
        ) {
            (self.observable, self.author, self.revision, self.cause) = (observable, author, revision, cause)
            note = UInt64(operation.rawValue) | UInt64(reason?.rawValue ?? 0) << UInt64(Self.operationBits)
            if operation == .delete || operation == .emit || operation == .call { note |= Self.keepsKey }
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
    private static let timeShift: UInt64 = 18
    private(set) var seconds: UInt32 = 0
    private let source: TimeSource
    /// All writes after this revision are known, except the broker's own. Those up to it were made before there
    /// was a history, or the newest of them was forgotten last.
    private(set) var completeSince: UInt64 = 0
    private var newestAuthor = AuthorHandle.none
    private var released = List<ObservableHandle>()

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

    var milliseconds: UInt64 { time >> Self.timeShift }

    /// Call before a write. The first one of a turn reads the clock.
    @inline(__always)
    mutating func readTime() {
        if time == 0 { setTime(source.millisecondsSince1970()) }
    }

    /// Until the end of the turn it is as late as an earlier broker's record says.
    mutating func setTime(_ milliseconds: UInt64) {
        time = max(1, milliseconds) << Self.timeShift
        seconds = UInt32(clamping: milliseconds / 1000)
    }

    mutating func endTurn() { time = 0 }

    /// Call it when the value has changed. Whoever set it has read the time.
    @inline(__always)
    mutating func append(_ entry: Entry, _ all: inout Slab<Observable>, _ authors: inout Authors) {
        if entry.author != newestAuthor { beginRun(of: entry.author, &authors) }
        var entry = entry
        if entry.note & Entry.keepsKey != 0 { keepKey(of: &entry, &all) }
        entry.note |= time
        if entries.count < Self.writesMax {
            entries.append(entry)
        } else {
            if self[count].note & (Entry.endsRun | Entry.keepsKey) != 0 { letGo(self[count], &all, &authors) }
            completeSince = max(completeSince, self[count].revision)
            self[count] = entry
        }
        count &+= 1
    }

    /// If it has no value. An emit or a call may be the first of its turn.
    @inline(never)
    private mutating func keepKey(of entry: inout Entry, _ all: inout Slab<Observable>) {
        readTime()
        if all[entry.observable].hasValue { return entry.note &= ~Entry.keepsKey }
        all[entry.observable].isRemembered = true
        all[entry.observable].lastEntry = UInt32(truncatingIfNeeded: count)
    }

    @inline(never)
    private mutating func beginRun(of author: AuthorHandle, _ authors: inout Authors) {
        if count > 0 { self[count - 1].note |= Entry.endsRun }
        newestAuthor = author
        authors.retain(author)
    }

    /// The ring passes its oldest entry.
    @inline(never)
    private mutating func letGo(_ entry: Entry, _ all: inout Slab<Observable>, _ authors: inout Authors) {
        if entry.note & Entry.endsRun != 0 { authors.release(entry.author) }
        guard entry.note & Entry.keepsKey != 0,
            all[entry.observable].lastEntry == UInt32(truncatingIfNeeded: oldest)
        else { return }
        all[entry.observable].isRemembered = false
        if !all[entry.observable].hasValue { released.append(entry.observable) }
    }

    /// A key without a value that the ring has passed. It may be needed again since.
    mutating func takeReleased(_ all: borrowing Slab<Observable>) -> ObservableHandle? {
        while let observable = released.popLast() {
            if all.contains(observable) { return observable }
        }
        // A long list gives its memory back.
        released.removeAll(keeping: 64)
        return nil
    }

    /// Starts after a revision: earlier writes aren't known one by one.
    mutating func begin(after revision: UInt64) {
        completeSince = max(completeSince, revision)
        otherCount = count
    }

    /// The newest entry is a call.
    mutating func countCall() { otherCount &+= 1 }

    /// The last entry about an observable without a value, if it is still remembered.
    func lastEntry(of observable: ObservableHandle, _ all: borrowing Slab<Observable>) -> UInt64? {
        let behind = UInt32(truncatingIfNeeded: count) &- all[observable].lastEntry
        guard behind >= 1, UInt64(behind) <= count - oldest else { return nil }
        let number = count - UInt64(behind)
        return self[number].observable == observable ? number : nil
    }
}

extension History: Checked {
    func checkInvariants(_ all: borrowing Slab<Observable>) throws(BrokenInvariant) {
        let authors = Set(keptAuthors)
        var (revision, keeping, remembered): (UInt64, Int, Int) = (0, 0, 0)
        for number in oldest..<count {
            let entry = self[number]
            let isThere = all.contains(entry.observable) && authors.contains(entry.author)
            try Self.always.hold("what an entry points to is there", isThere, of: "entry \(number)")
            try Self.always.hold("revisions ascend", entry.revision >= revision, of: "entry \(number)")
            revision = entry.revision
            let isLast = all[entry.observable].lastEntry == UInt32(truncatingIfNeeded: number)
            if isLast, entry.note & Entry.keepsKey != 0 { keeping += 1 }
        }
        all.forEach { if all[$0].isRemembered { remembered += 1 } }
        try Self.always.agree("it keeps what says so, once", remembered, keeping)
        try Self.always.hold("a turn's time is forgotten", time == 0 && released.isEmpty)
    }

    /// The author of each run of entries, once for each.
    var keptAuthors: [AuthorHandle] {
        let ends = (oldest..<count).filter { self[$0].note & Entry.endsRun != 0 || $0 == count - 1 }
        return ends.map { self[$0].author }
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

    /// The nearest entry among an entry's causes that has the same key and an author of the same name: a program may
    /// connect for each write.
    func returning(to number: UInt64, _ authors: borrowing Authors) -> UInt64? {
        let start = self[number]
        var current = number
        for _ in 0..<Self.returnStepsMax {
            guard let last = cause(of: current) else { return nil }
            let candidates = shared(with: last)
            let same = candidates.first {
                self[$0].observable == start.observable
                    && authors[self[$0].author].name.isEqual(to: authors[start.author].name)
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
            let forgotten = (entries.count + 1) / 2
            let newest = entries[forgotten - 1]
            completeSince = max(completeSince, newest.revision + 1)
            entries.removeFirst(forgotten)
            keys.removeFirst(Int(newest.keyEnd))
            for place in entries.indices { entries[place].keyEnd -= newest.keyEnd }
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
}
