// The keys that a subscription is owed, in the order of their newest revisions: a key that is written again
// moves to the end. An owed key is a few words without its value. Its line is made from the state when there
// is room.

import PlugboardMemory
import PlugboardWire

/// Owed keys by age, each found at once. The caller keeps the count of `Reach` right.
struct ConflatedKeys: ~Copyable {
    typealias Place = Int32

    private struct Entry: BitwiseCopyable {
        var key: OwedKey
        /// The place of the key before it, −1 if there is none; `freePlace` if nothing is here.
        var previous: Place = -1
        /// The place of the key after it, or the next free place; −1 if there is none.
        var next: Place = -1
    }

    struct Indexed: ProbeEntry {
        /// Its place and one; 0 if the entry is empty.
        private var number: Int32 = 0

        init(_ place: Place) { number = place + 1 }
        private init() {}

        static var empty: Indexed { Indexed() }
        var isEmpty: Bool { number == 0 }
        var place: Place { number - 1 }
    }

    private var entries = List<Entry>()
    /// The notes of each place, up to the last place that has some.
    private var notes: [OwedNotes] = []
    private var free: Place = -1
    /// Has no entries before the first key, and when all that is left will be removed: then no key is looked up any more.
    private var index = ProbeTable<Indexed>(count: 0)
    private static let freePlace: Place = -2
    private var first: Place = -1
    private var last: Place = -1
    /// The last one of those that a search has found. They are older than all others.
    private var lastFound: Place = -1
    private(set) var count = 0
    /// How many of them come before `synced`.
    private(set) var awaitedCount = 0
    /// How many of them are of a snapshot.
    private(set) var initialCount = 0
    /// How many bytes those lines count that were made already.
    private(set) var writtenBytes = 0

    /// How many of 256 slots of the index are filled at most. It differs between subscriptions, so that of
    /// thousands that are owed the same keys, not all grow with the same event.
    var filledMax = 192

    @inline(__always) var isEmpty: Bool { count == 0 }

    subscript(place: Place) -> OwedKey {
        @inline(__always)
        _read { yield entries[Int(place)].key }
        @inline(__always)
        _modify { yield &entries[Int(place)].key }
    }

    func notes(at place: Place) -> OwedNotes {
        notes.indices.contains(Int(place)) ? notes[Int(place)] : OwedNotes()
    }

    /// Keeps the value that an observer saw last, or its line if that was made.
    mutating func hold(_ bytes: SharedBytes, at place: Place) {
        makeNotes(at: place)
        notes[Int(place)].held = bytes
    }

    mutating func set(unacknowledged names: LateNames?, at place: Place) {
        if names != nil { makeNotes(at: place) }
        if notes.indices.contains(Int(place)) { notes[Int(place)].unacknowledged = names }
    }

    /// Some observers didn't acknowledge a key that waited at its gate. Its line will name them.
    mutating func addLateNames(_ naming: inout LateNaming, of observable: ObservableHandle) {
        guard let owed = find(observable), self[owed].isGated else { return }
        let before = notes(at: owed).unacknowledged
        set(unacknowledged: naming.names(at: self[owed].revision, after: before), at: owed)
    }

    /// Keeps the line of a key, which was made before its value changes.
    mutating func write(_ line: Span<UInt8>, at place: Place) {
        hold(SharedBytes(line), at: place)
        self[place].isWritten = true
        writtenBytes += writtenBytes(at: place)
    }

    private func writtenBytes(at place: Place) -> Int {
        guard self[place].isWritten, let line = notes(at: place).held else { return 0 }
        return PendingLines.cost(ofLine: line.count)
    }

    var front: Place? { first >= 0 ? first : nil }

    var back: Place? { last >= 0 ? last : nil }

    func place(after place: Place) -> Place? {
        let next = entries[Int(place)].next
        return next >= 0 ? next : nil
    }

    /// The places of all keys, the oldest first. Some may be removed meanwhile.
    var places: [Place] {
        var (all, next): ([Place], Place?) = ([], front)
        all.reserveCapacity(count)
        while let place = next {
            all.append(place)
            next = self.place(after: place)
        }
        return all
    }

    @inline(never)
    func find(_ observable: ObservableHandle) -> Place? {
        slot(of: observable).map { index[$0].place }
    }

    /// The newest revision of a key that is owed; nil if it isn't.
    func revision(of observable: ObservableHandle) -> UInt64? { find(observable).map { self[$0].revision } }

    /// Makes room for so many keys at once, because each growth moves all of them.
    mutating func reserve(_ wanted: Int) {
        var slots = max(8, index.count)
        while wanted * 256 > slots * filledMax { slots *= 2 }
        if slots > index.count { makeIndex(of: slots) }
    }

    /// Adds a key that is not owed yet, at the end.
    @discardableResult
    mutating func append(_ owed: OwedKey) -> Place {
        if (count + 1) * 256 > index.count * filledMax { makeIndex(of: max(8, index.count * 2)) }
        let place = free >= 0 ? free : Place(truncatingIfNeeded: entries.count)
        if free >= 0 {
            free = entries[Int(place)].next
            self[place] = owed
        } else {
            entries.append(Entry(key: owed))
        }
        link(place, behind: last)
        fill(owed.observable, place)
        count += 1
        if owed.isAwaited { awaitedCount += 1 }
        if owed.isInitial { initialCount += 1 }
        return place
    }

    /// Adds keys that aren't owed yet and were written when nothing was owed of them, in the order of their
    /// revisions. They follow others of the same revision.
    mutating func insert(_ older: [OwedKey]) {
        var behind = last
        for var owed in older.reversed() {
            while behind >= 0, self[behind].revision > owed.revision {
                behind = entries[Int(behind)].previous
            }
            if behind >= 0 { owed.event = self[behind].event }
            append(owed)
            move(last, behind: behind)
        }
    }

    /// Adds a key that isn't owed yet and was written before all others that are, but for those that were added like
    /// this: it follows them.
    mutating func insert(found owed: OwedKey) {
        let behind = lastFound
        let place = append(owed)
        if behind >= 0 { self[place].event = self[behind].event }
        move(place, behind: behind)
        lastFound = place
    }

    @inline(__always)
    mutating func renew(_ place: Place, revision: UInt64, event: UInt64) {
        (self[place].revision, self[place].event) = (revision, event)
        if place == last, place != lastFound { return }
        unlink(place)
        link(place, behind: last)
    }

    /// Folds an update to a key that is owed already, and moves it to the end. If the observer has never seen
    /// the key, it has skipped nothing.
    @inline(__always)
    mutating func fold(_ place: Place, revision: UInt64, event: UInt64) {
        if !self[place].isInitial { self[place].countSkipped() }
        renew(place, revision: revision, event: event)
    }

    /// The observer missed a write of a key before the one that it is owed.
    mutating func markUnsure(_ place: Place) {
        self[place].countSkipped()
        if self[place].isAwaited { return }
        self[place].knowledge = .unsure
        awaitedCount += 1
    }

    /// Sorts the keys by their events. Keys that the observer missed come first, by their revisions.
    mutating func sort() {
        let sorted = places.sorted {
            (self[$0].event, self[$0].revision) < (self[$1].event, self[$1].revision)
        }
        (first, last) = (-1, -1)
        for place in sorted { link(place, behind: last) }
    }

    @discardableResult
    mutating func remove(_ place: Place) -> OwedKey {
        let owed = self[place]
        if owed.isWritten { writtenBytes -= writtenBytes(at: place) }
        unlink(place)
        if let slot = slot(of: owed.observable) { Self.remove(slot, of: &index, entries) }
        if notes.indices.contains(Int(place)) { notes[Int(place)] = OwedNotes() }
        (entries[Int(place)].previous, entries[Int(place)].next) = (Self.freePlace, free)
        free = place
        count -= 1
        if owed.isAwaited { awaitedCount -= 1 }
        if owed.isInitial { initialCount -= 1 }
        return owed
    }

    /// From now on, keys are only removed.
    mutating func abandon() { index = ProbeTable(count: 0) }

    private mutating func move(_ place: Place, behind other: Place) {
        if place == other || entries[Int(place)].previous == other { return }
        unlink(place)
        link(place, behind: other)
    }

    private mutating func link(_ place: Place, behind other: Place) {
        let next = other >= 0 ? entries[Int(other)].next : first
        (entries[Int(place)].previous, entries[Int(place)].next) = (other, next)
        if other >= 0 { entries[Int(other)].next = place } else { first = place }
        if next >= 0 { entries[Int(next)].previous = place } else { last = place }
    }

    private mutating func makeNotes(at place: Place) {
        while notes.count <= Int(place) { notes.append(OwedNotes()) }
    }

    private mutating func unlink(_ place: Place) {
        let (previous, next) = (entries[Int(place)].previous, entries[Int(place)].next)
        if place == lastFound { lastFound = previous }
        if previous >= 0 { entries[Int(previous)].next = next } else { first = next }
        if next >= 0 { entries[Int(next)].previous = previous } else { last = previous }
    }
}

// The index: where each observable's entry is.
extension ConflatedKeys {
    private static func hash(_ observable: ObservableHandle) -> UInt64 {
        (observable.word &* 0x9E37_79B9_7F4A_7C15) >> 32
    }

    @inline(__always)
    private func slot(of observable: ObservableHandle) -> Int? {
        if index.isEmpty { return nil }
        return index.first(from: index.home(of: Self.hash(observable))) {
            entries[Int($0.place)].key.observable == observable
        }
    }

    private mutating func fill(_ observable: ObservableHandle, _ place: Place) {
        index.insert(Indexed(place), hash: Self.hash(observable))
    }

    private static func remove(
        _ slot: Int, of index: inout ProbeTable<Indexed>, _ entries: borrowing List<Entry>
    ) {
        index.remove(at: slot) { hash(entries[Int($0.place)].key.observable) }
    }

    private mutating func makeIndex(of slots: Int) {
        entries.reserve(slots * filledMax / 256)
        index = ProbeTable(count: slots)
        var place = first
        while place >= 0 {
            fill(self[place].observable, place)
            place = entries[Int(place)].next
        }
    }
}

extension ConflatedKeys: Checked {
    /// Each owed key is in the chain once, by age, and is found at once. Adds to `owedBy` how often each key
    /// is owed.
    func checkInvariants(
        _ keyspace: borrowing Keyspace,
        isSorted: Bool,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        var (previous, place) = (Place(-1), first)
        var (found, awaited, initial) = (0, 0, 0)
        var event: UInt64 = 0
        while place >= 0, found <= entries.count {
            let owed = self[place]
            try Self.always.hold("what is owed is there", keyspace.contains(owed.observable))
            let key = String(keyspace[owed.observable].key)
            let isBehind = entries[Int(place)].previous == previous
            try Self.always.hold("each knows who is before it", isBehind, of: key)
            let isFound = index.isEmpty || find(owed.observable) == place
            try Self.always.hold("each is found", isFound, of: key)
            try Self.always.hold("the oldest comes first", !isSorted || owed.event >= event, of: key)
            owedBy[owed.observable, default: 0] += 1
            event = owed.event
            found += 1
            if owed.isAwaited { awaited += 1 }
            if owed.isInitial { initial += 1 }
            (previous, place) = (place, entries[Int(place)].next)
        }
        try Self.always.agree("its count is that of its chain", count, found)
        try Self.always.agree("what comes before synced is counted", awaitedCount, awaited)
        try Self.always.agree("what a snapshot found is counted", initialCount, initial)
        let written = places.reduce(0) { $0 + writtenBytes(at: $1) }
        try Self.always.agree("lines that were made are counted", writtenBytes, written)
        try Self.always.agree("the chain ends with the newest", last, previous)
        try Self.always.agree("a place is free or a key's", entries.count, found + countFree())
        let indexed = index.indices.count { !index[$0].isEmpty }
        try Self.always.agree("the index has each key once", indexed, index.isEmpty ? 0 : found)
    }

    private func countFree() -> Int {
        var (place, found) = (free, 0)
        while place >= 0, found <= entries.count {
            found += entries[Int(place)].previous == Self.freePlace ? 1 : 0
            place = entries[Int(place)].next
        }
        return found
    }
}

// One key that a subscription is owed. It takes a few words, because a broker may have millions of them. What
// only few of them need is in `OwedNotes`. The value is looked up when there is room for the line.

struct OwedKey: BitwiseCopyable {
    enum Knowledge: UInt8, BitwiseCopyable {
        /// The last value that it was sent.
        case told
        /// Nothing. The key is part of the snapshot.
        case nothing
        /// Unknown, because the observer was away.
        case unsure
    }

    let observable: ObservableHandle
    /// The newest revision, also of a delete.
    var revision: UInt64
    /// The number of that event in the turn's log; 0 if it was before the observer came.
    var event: UInt64
    /// How many updates were folded into the newest.
    private(set) var skipped: UInt32 = 0
    var knowledge = Knowledge.told
    /// It waits for observers of an earlier phase. Only such a key can have notes about acknowledgements.
    var isGated = false
    /// The observer was sent the value that is held.
    var wasSent = false
    /// Its line was made before the value changed, and is held. The line is empty if the observer gets none.
    var isWritten = false

    /// How many bytes an owed key counts: about what it takes up at most.
    static let countedBytes = 56

    /// An event that has to wait.
    init(_ observable: ObservableHandle, revision: UInt64, event: UInt64) {
        self.observable = observable
        self.revision = revision
        self.event = event
    }

    /// A key from before the observer came.
    init(_ observable: ObservableHandle, revision: UInt64, _ knowledge: Knowledge) {
        self.init(observable, revision: revision, event: 0)
        self.knowledge = knowledge
    }

    @inline(__always) var isInitial: Bool { knowledge == .nothing }
    var isMissed: Bool { knowledge == .unsure }
    /// It is sent before `synced`.
    var isAwaited: Bool { knowledge != .told }

    @inline(__always)
    mutating func countSkipped() {
        if skipped < .max { skipped += 1 }
    }

    /// How often it was written since it is owed.
    var writes: UInt32 { skipped < .max ? skipped + 1 : .max }

    /// The observer knows so many of these writes.
    mutating func forget(writes: UInt32) { skipped -= min(skipped, writes) }
}

struct OwedNotes {
    /// The value that the observer saw last, if its lines need it; or the whole line, if it was made already.
    var held: SharedBytes?
    var unacknowledged: LateNames?
}
