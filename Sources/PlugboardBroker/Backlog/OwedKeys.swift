// The keys that a subscription has yet to be told about, in the order of their newest
// revisions: a key that is written again moves to the end. What is owed of a key is a
// few words, not its value; the line is made from the state when there is room for it.

import PlugboardMemory
import PlugboardWire

/// One key that is owed.
struct OwedKey {
    /// What the observer knows of the key.
    enum Knowledge: UInt8 {
        /// The value that it was told last.
        case told
        /// Nothing: the key is part of the snapshot.
        case nothing
        /// It isn't known here, as the observer was away.
        case unsure
    }

    let observable: ObservableHandle
    /// The hash of its key.
    let keyHash: UInt64
    /// The newest revision, a delete's too.
    var revision: UInt64
    /// The number of that event in the turn's log; 0 where it came before the observer.
    var event: UInt64
    /// The value that the observer saw last, where its lines need it; or the whole line, where
    /// that `isWritten`.
    var held: HeldBytes?
    /// Who had not acknowledged when time was up: the encoded names.
    var unacknowledged: HeldBytes?
    /// Updates folded into the newest.
    var skipped: UInt32 = 0
    fileprivate(set) var knowledge = Knowledge.told
    /// Waits for observers of an earlier phase; only then may something be noted of acknowledgements.
    var isGated = false
    /// The observer was sent what is held.
    var wasSent = false
    /// Its line was made before the value changed; empty where the observer is told nothing.
    var isWritten = false
    /// The place of the key that comes before it, −1 for none; `freePlace` where nothing is owed.
    fileprivate var previous: OwedKeys.Place = -1
    fileprivate var next: OwedKeys.Place = -1

    /// The observer knows the key, and it waits for nobody else.
    @inline(__always) var isPlain: Bool { !isInitial && !isGated }
    @inline(__always) var isInitial: Bool { knowledge == .nothing }
    var isMissed: Bool { knowledge == .unsure }

    /// What a key that is owed is counted for, in bytes: no more is kept of it, about.
    static let countedBytes = 56

    /// What a line that was made takes of the room for lines.
    var writtenCost: Int {
        guard isWritten, let held else { return 0 }
        return LineQueue.cost(ofLine: held.count)
    }

    /// One update more is folded into the newest.
    @inline(__always)
    mutating func countSkipped() {
        if skipped < .max { skipped += 1 }
    }

    /// `synced` follows when it was told.
    var isAwaited: Bool { knowledge != .told }

    /// An event that has to wait.
    init(_ observable: ObservableHandle, _ keyHash: UInt64, revision: UInt64, event: UInt64, held: HeldBytes?)
    {
        self.observable = observable
        self.keyHash = keyHash
        self.revision = revision
        self.event = event
        self.held = held
    }

    /// What came before the observer.
    init(_ observable: ObservableHandle, _ keyHash: UInt64, revision: UInt64, _ knowledge: Knowledge) {
        self.init(observable, keyHash, revision: revision, event: 0, held: nil)
        self.knowledge = knowledge
    }
}

/// Owed keys by age, each found at once. Who adds and removes counts them in their keyspace.
struct OwedKeys: ~Copyable {
    /// Where a key stands among those that are owed.
    typealias Place = Int32

    private var entries: [OwedKey] = []
    private var free = List<Place>()
    /// Open addressing; −1 where a slot is empty.
    private var index = List<Place>()
    private static let freePlace: Place = -2
    private var first: Place = -1
    private var last: Place = -1
    private(set) var count = 0
    /// Those of them that come before `synced`.
    private(set) var awaitedCount = 0

    /// Of 256 slots of the index so many are filled at most. Where thousands are owed the same keys, not all
    /// are to grow with the same event.
    var filledMax = 192

    init() {}

    @inline(__always) var isEmpty: Bool { count == 0 }

    /// One that is owed.
    subscript(place: Place) -> OwedKey {
        @inline(__always)
        _read { yield entries[Int(place)] }
        @inline(__always)
        _modify { yield &entries[Int(place)] }
    }

    /// The key that comes next.
    var front: Place? { first >= 0 ? first : nil }

    /// The one behind another.
    func place(after place: Place) -> Place? {
        let next = entries[Int(place)].next
        return next >= 0 ? next : nil
    }

    /// What is owed of a key, if anything is; looked for first at a `hint`.
    @inline(__always)
    func find(_ observable: ObservableHandle, hint: Place) -> Place? {
        if isAt(hint, observable) { return hint }
        return find(observable)
    }

    @inline(never)
    func find(_ observable: ObservableHandle) -> Place? {
        slot(of: observable).map { index[$0] }
    }

    /// Makes room for so many at once: growing moves all that is there.
    mutating func reserve(_ wanted: Int) {
        var slots = max(8, index.count)
        while wanted * 256 > slots * filledMax { slots *= 2 }
        if slots > index.count { makeIndex(of: slots) }
    }

    /// Adds a key that is not owed yet, at the end.
    mutating func append(_ owed: OwedKey) {
        if (count + 1) * 256 > index.count * filledMax { growIndex() }
        let place = put(owed)
        link(place)
        fill(owed.observable, place)
        count += 1
        if owed.isAwaited { awaitedCount += 1 }
    }

    /// Adds keys that are not owed yet and whose events came before the observer, all in the order of their
    /// revisions; behind others of the same revision.
    mutating func insert(_ older: [OwedKey]) {
        var behind = last
        for owed in older.reversed() {
            while behind >= 0, entries[Int(behind)].revision > owed.revision {
                behind = entries[Int(behind)].previous
            }
            append(owed)
            move(last, behind: behind)
        }
    }

    /// Moves a key to the end, with its newest revision and the event of that.
    @inline(__always)
    mutating func renew(_ place: Place, revision: UInt64, event: UInt64) {
        entries[Int(place)].revision = revision
        entries[Int(place)].event = event
        if place != last { moveToEnd(place) }
    }

    /// Folds an update to a key that is owed already: it moves to the end. Of one that was never told
    /// nothing was left out.
    @inline(__always)
    mutating func fold(_ place: Place, revision: UInt64, event: UInt64) {
        if !entries[Int(place)].isInitial { entries[Int(place)].countSkipped() }
        renew(place, revision: revision, event: event)
    }

    /// The observer missed a write of a key that it is owed already, before that.
    mutating func noteMissed(_ place: Place) {
        entries[Int(place)].countSkipped()
        if entries[Int(place)].isAwaited { return }
        entries[Int(place)].knowledge = .unsure
        awaitedCount += 1
    }

    /// Puts all in the order of their events, and those that the observer missed first, in the order of their
    /// revisions.
    mutating func sort() {
        var places: [Place] = []
        places.reserveCapacity(count)
        var next = front
        while let place = next {
            places.append(place)
            next = self.place(after: place)
        }
        places.sort { (self[$0].event, self[$0].revision) < (self[$1].event, self[$1].revision) }
        (first, last) = (-1, -1)
        for place in places { link(place) }
    }

    /// Takes a key out, letting go of what was held for it.
    @discardableResult
    mutating func remove(_ place: Place) -> OwedKey {
        let owed = entries[Int(place)]
        unlink(place)
        clear(owed.observable)
        entries[Int(place)].held = nil
        entries[Int(place)].unacknowledged = nil
        entries[Int(place)].previous = Self.freePlace
        free.append(place)
        count -= 1
        if owed.isAwaited { awaitedCount -= 1 }
        return owed
    }

    @inline(__always)
    private func isAt(_ place: Place, _ observable: ObservableHandle) -> Bool {
        entries.indices.contains(Int(place)) && entries[Int(place)].observable == observable
            && entries[Int(place)].previous != Self.freePlace
    }

    private mutating func moveToEnd(_ place: Place) {
        unlink(place)
        link(place)
    }

    /// Moves a key behind another one, or to the front.
    private mutating func move(_ place: Place, behind other: Place) {
        if place == other || entries[Int(place)].previous == other { return }
        unlink(place)
        let next = other >= 0 ? entries[Int(other)].next : first
        (entries[Int(place)].previous, entries[Int(place)].next) = (other, next)
        if other >= 0 { entries[Int(other)].next = place } else { first = place }
        if next >= 0 { entries[Int(next)].previous = place } else { last = place }
    }

    private mutating func put(_ owed: OwedKey) -> Place {
        if let place = free.popLast() {
            entries[Int(place)] = owed
            return place
        }
        entries.append(owed)
        return Place(truncatingIfNeeded: entries.count - 1)
    }

    private mutating func link(_ place: Place) {
        entries[Int(place)].previous = last
        entries[Int(place)].next = -1
        if last >= 0 { entries[Int(last)].next = place } else { first = place }
        last = place
    }

    private mutating func unlink(_ place: Place) {
        let (previous, next) = (entries[Int(place)].previous, entries[Int(place)].next)
        if previous >= 0 { entries[Int(previous)].next = next } else { first = next }
        if next >= 0 { entries[Int(next)].previous = previous } else { last = previous }
    }
}

// The index: where each observable's entry is.
extension OwedKeys {
    private func home(_ observable: ObservableHandle) -> Int {
        Int(truncatingIfNeeded: (observable.word &* 0x9E37_79B9_7F4A_7C15) >> 32) & (index.count - 1)
    }

    @inline(__always)
    private func slot(of observable: ObservableHandle) -> Int? {
        if index.isEmpty { return nil }
        var slot = home(observable)
        while index[slot] >= 0 {
            if entries[Int(index[slot])].observable == observable { return slot }
            slot = (slot + 1) & (index.count - 1)
        }
        return nil
    }

    private mutating func fill(_ observable: ObservableHandle, _ place: Place) {
        var slot = home(observable)
        while index[slot] >= 0 { slot = (slot + 1) & (index.count - 1) }
        index[slot] = place
    }

    /// Empties a slot and moves later members of its run forward, so that no search stops early.
    private mutating func clear(_ observable: ObservableHandle) {
        guard var gap = slot(of: observable) else { return }
        let mask = index.count - 1
        var next = (gap + 1) & mask
        while index[next] >= 0 {
            let home = home(entries[Int(index[next])].observable)
            if (next - home) & mask >= (next - gap) & mask {
                index[gap] = index[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        index[gap] = -1
    }

    private mutating func growIndex() { makeIndex(of: max(8, index.count * 2)) }

    private mutating func makeIndex(of slots: Int) {
        entries.reserveCapacity(slots * filledMax / 256)
        index = List(repeating: -1, count: slots)
        var place = first
        while place >= 0 {
            fill(entries[Int(place)].observable, place)
            place = entries[Int(place)].next
        }
    }
}

extension OwedKeys {
    private static var always: Invariants { Invariants(of: "OwedKeys") }

    /// Each owed key stands once in the chain, by age, and is found at once. Counts who is owed in
    /// `owedBy`.
    func checkInvariants(
        _ living: borrowing Living,
        _ keyspace: borrowing Keyspace,
        isSorted: Bool,
        _ owedBy: inout [ObservableHandle: Int]
    ) throws(BrokenInvariant) {
        var (previous, place, found, awaited) = (Place(-1), first, 0, 0)
        var event: UInt64 = 0
        while place >= 0, found <= entries.count {
            let owed = entries[Int(place)]
            try Self.always.hold("what is owed is there", living.observables.contains(owed.observable))
            let key = String(keyspace[owed.observable].key)
            let isOfKey = keyspace[owed.observable].hash == owed.keyHash
            try Self.always.hold("each knows the hash of its key", isOfKey, of: key)
            try Self.always.hold("each knows who is before it", owed.previous == previous, of: key)
            try Self.always.hold("each is found", find(owed.observable) == place, of: key)
            try Self.always.hold("the oldest comes first", !isSorted || owed.event >= event, of: key)
            owedBy[owed.observable, default: 0] += 1
            event = owed.event
            found += 1
            if owed.isAwaited { awaited += 1 }
            (previous, place) = (place, owed.next)
        }
        try Self.always.agree("its count is that of its chain", count, found)
        try Self.always.agree("what comes before synced is counted", awaitedCount, awaited)
        try Self.always.agree("the chain ends with the newest", last, previous)
        try Self.always.agree("a place is free or a key's", entries.count, found + free.count)
        let indexed = index.indices.count { index[$0] >= 0 }
        try Self.always.agree("the index has each key once", indexed, found)
    }

    /// All that is owed, the oldest first.
    func forEach(_ body: (OwedKey) -> Void) {
        var place = first
        while place >= 0 {
            body(entries[Int(place)])
            place = entries[Int(place)].next
        }
    }
}
