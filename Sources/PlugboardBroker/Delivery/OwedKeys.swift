// The keys that a subscription has yet to be told about, in the order of their newest
// revisions: a key that is written again moves to the end. What is owed of a key is a
// few words, not its value; the line is made from the state when there is room for it.

import PlugboardMemory
import PlugboardWire

/// One key that is owed.
struct OwedKey: BitwiseCopyable {
    /// What the observer knows of the key.
    enum Knowledge: UInt8 {
        /// The value that it was told last.
        case told
        /// Nothing: the key is part of the snapshot.
        case nothing
        /// It isn't known here, as the observer was away.
        case unsure
    }

    let observable: ObservableReference
    /// The newest revision, a delete's too.
    var revision: UInt64
    /// The number of that event in the turn's log; 0 where it came before the observer.
    var event: UInt64
    /// The value that the observer saw last, where its lines need it; or the whole line, where
    /// that `isWritten`.
    var held: HeldBytesReference?
    /// Who had not acknowledged when time was up: the encoded names.
    var unacknowledged: HeldBytesReference?
    /// Updates folded into the newest.
    var skipped: UInt32 = 0
    var knowledge = Knowledge.told
    /// Waits for observers of an earlier phase; only then may something be noted of acknowledgements.
    var isGated = false
    /// The observer was sent what is held.
    var wasSent = false
    /// Its line was made before the value changed; empty where the observer is told nothing.
    var isWritten = false
    /// The place of the key that comes before it, −1 for none; `freePlace` where nothing is owed.
    fileprivate var previous: Int32 = -1
    fileprivate var next: Int32 = -1

    /// The observer knows the key, and it waits for nobody else.
    @inline(__always) var isPlain: Bool { !isInitial && !isGated }
    @inline(__always) var isInitial: Bool { knowledge == .nothing }
    var isMissed: Bool { knowledge == .unsure }

    /// What a line that was made takes of the room for lines.
    var writtenCost: Int {
        guard isWritten, let held else { return 0 }
        return LineQueue.cost(of: held.pointee.bytes)
    }

    /// `synced` follows when it was told.
    var isAwaited: Bool { knowledge != .told }

    /// An event that has to wait.
    init(observable: ObservableReference, revision: UInt64, event: UInt64, held: HeldBytesReference? = nil) {
        self.observable = observable
        self.revision = revision
        self.event = event
        self.held = held
    }

    /// What came before the observer.
    init(observable: ObservableReference, revision: UInt64, _ knowledge: Knowledge) {
        self.init(observable: observable, revision: revision, event: 0)
        self.knowledge = knowledge
    }
}

/// Owed keys by age, each found at once. Keeps their observables from being removed.
struct OwedKeys: ~Copyable {
    private var entries = List<OwedKey>()
    private var free = List<Int32>()
    /// Open addressing; −1 where a slot is empty.
    private var index = List<Int32>()
    private static let freePlace: Int32 = -2
    private var first: Int32 = -1
    private var last: Int32 = -1
    private(set) var count = 0

    init() {}

    @inline(__always) var isEmpty: Bool { count == 0 }

    /// The key that comes next.
    var front: UnsafeMutablePointer<OwedKey>? { entry(first) }

    /// What is owed of a key, if anything is.
    @inline(__always)
    func find(_ observable: ObservableReference) -> UnsafeMutablePointer<OwedKey>? {
        if let owed = expected(observable) { return owed }
        return search(observable)
    }

    /// Adds a key that is not owed yet, at the end; takes the caller's reference to `held`.
    mutating func append(_ owed: OwedKey) {
        if (count + 1) * 4 > index.count * 3 { growIndex() }
        let place = free.popLast() ?? appendEntry(owed)
        entries.mutableElements[Int(place)] = owed
        link(place)
        fill(owed.observable, place)
        owed.observable.pointee.owedBy += 1
        count += 1
    }

    /// Moves a key to the end, with its newest revision and the event of that.
    @inline(__always)
    mutating func renew(_ owed: UnsafeMutablePointer<OwedKey>, revision: UInt64, event: UInt64) {
        owed.pointee.revision = revision
        owed.pointee.event = event
        // The last one has none after it.
        if owed.pointee.next >= 0 { moveToEnd(owed) }
    }

    /// Takes a key out, letting go of what was held for it.
    mutating func remove(_ owed: UnsafeMutablePointer<OwedKey>) {
        let place = place(of: owed)
        if let held = owed.pointee.held { HeldBytes.release(held) }
        if let names = owed.pointee.unacknowledged { HeldBytes.release(names) }
        owed.pointee.observable.pointee.owedBy -= 1
        unlink(place)
        clear(owed.pointee.observable)
        owed.pointee.previous = Self.freePlace
        free.append(place)
        count -= 1
    }

    /// The key where it was found last, if it is there.
    @inline(__always)
    private func expected(_ observable: ObservableReference) -> UnsafeMutablePointer<OwedKey>? {
        let place = Int(observable.pointee.owedPlace)
        guard place < entries.count, let base = entries.mutableElements.baseAddress,
            base[place].observable == observable, base[place].previous != Self.freePlace
        else { return nil }
        return base + place
    }

    @inline(never)
    private func search(_ observable: ObservableReference) -> UnsafeMutablePointer<OwedKey>? {
        guard let slot = slot(of: observable) else { return nil }
        let place = index.elements[slot]
        observable.pointee.owedPlace = place
        return entry(place)
    }

    private func entry(_ place: Int32) -> UnsafeMutablePointer<OwedKey>? {
        guard place >= 0, let base = entries.mutableElements.baseAddress else { return nil }
        return base + Int(place)
    }

    /// Of a key with others behind it: so there is a last one, and it isn't this.
    @inline(__always)
    private mutating func moveToEnd(_ owed: UnsafeMutablePointer<OwedKey>) {
        guard let base = entries.mutableElements.baseAddress else { return }
        let (previous, next) = (owed.pointee.previous, owed.pointee.next)
        base[Int(next)].previous = previous
        if previous >= 0 { base[Int(previous)].next = next } else { first = next }
        owed.pointee.previous = last
        owed.pointee.next = -1
        let place = Int32(truncatingIfNeeded: owed - base)
        base[Int(last)].next = place
        last = place
    }

    private func place(of owed: UnsafeMutablePointer<OwedKey>) -> Int32 {
        Int32(truncatingIfNeeded: owed - entries.mutableElements.baseAddress.unsafelyUnwrapped)
    }

    private mutating func appendEntry(_ owed: OwedKey) -> Int32 {
        entries.append(owed)
        return Int32(truncatingIfNeeded: entries.count - 1)
    }

    private mutating func link(_ place: Int32) {
        let all = entries.mutableElements
        all[Int(place)].previous = last
        all[Int(place)].next = -1
        if last >= 0 { all[Int(last)].next = place } else { first = place }
        last = place
    }

    private mutating func unlink(_ place: Int32) {
        let all = entries.mutableElements
        let (previous, next) = (all[Int(place)].previous, all[Int(place)].next)
        if previous >= 0 { all[Int(previous)].next = next } else { first = next }
        if next >= 0 { all[Int(next)].previous = previous } else { last = previous }
    }
}

// The index: where each observable's entry is.
extension OwedKeys {
    private func home(_ observable: ObservableReference) -> Int {
        let word = UInt64(UInt(bitPattern: observable)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: word >> 32) & (index.count - 1)
    }

    @inline(__always)
    private func slot(of observable: ObservableReference) -> Int? {
        if index.isEmpty { return nil }
        var slot = home(observable)
        while let candidate = entry(index.elements[slot]) {
            if candidate.pointee.observable == observable { return slot }
            slot = (slot + 1) & (index.count - 1)
        }
        return nil
    }

    private mutating func fill(_ observable: ObservableReference, _ place: Int32) {
        var slot = home(observable)
        while index.elements[slot] >= 0 { slot = (slot + 1) & (index.count - 1) }
        index.mutableElements[slot] = place
    }

    /// Empties a slot and moves later members of its run forward, so that no search stops early.
    private mutating func clear(_ observable: ObservableReference) {
        guard var gap = slot(of: observable) else { return }
        let mask = index.count - 1
        var next = (gap + 1) & mask
        while let candidate = entry(index.elements[next]) {
            let home = home(candidate.pointee.observable)
            if (next - home) & mask >= (next - gap) & mask {
                index.mutableElements[gap] = index.elements[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        index.mutableElements[gap] = -1
    }

    private mutating func growIndex() {
        let wanted = max(8, index.count * 2)
        index.removeAll()
        for _ in 0..<wanted { index.append(-1) }
        var place = first
        while let owed = entry(place) {
            fill(owed.pointee.observable, place)
            place = owed.pointee.next
        }
    }
}

extension OwedKeys {
    private static var always: Invariants { Invariants(of: "OwedKeys") }

    /// Each owed key stands once in the chain, by age, and is found at once. Counts who is owed in
    /// `owedBy`.
    func checkInvariants(
        _ living: borrowing Living,
        _ owedBy: inout [ObservableReference: Int]
    ) throws(BrokenInvariant) {
        var (previous, place, found) = (Int32(-1), first, 0)
        var event: UInt64 = 0
        while let owed = entry(place), found <= entries.count {
            let observable = owed.pointee.observable
            try Self.always.hold("what is owed is there", living.observables.contains(observable))
            let key = String(observable.pointee.key)
            try Self.always.hold("each knows who is before it", owed.pointee.previous == previous, of: key)
            try Self.always.hold(
                "each is found",
                find(observable) == owed && isIndexed(observable, place),
                of: key
            )
            try Self.always.hold("the oldest comes first", owed.pointee.event >= event, of: key)
            owedBy[observable, default: 0] += 1
            event = owed.pointee.event
            found += 1
            (previous, place) = (place, owed.pointee.next)
        }
        try Self.always.agree("its count is that of its chain", count, found)
        try Self.always.agree("the chain ends with the newest", last, previous)
        try Self.always.agree("a place is free or a key's", entries.count, found + free.count)
        let indexed = index.elements.count { $0 >= 0 }
        try Self.always.agree("the index has each key once", indexed, found)
    }

    /// All that is owed, the oldest first.
    func forEach(_ body: (borrowing OwedKey) -> Void) {
        var place = first
        while let owed = entry(place) {
            body(owed.pointee)
            place = owed.pointee.next
        }
    }

    private func isIndexed(_ observable: ObservableReference, _ place: Int32) -> Bool {
        slot(of: observable).map { index.elements[$0] } == place
    }
}
