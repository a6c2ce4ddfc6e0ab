// What is known of the last value of a key that was compared with a subscription's filter. Most values have the shape of the one before
// (`ShapeShift`), so it is known where their parts are, and whether they meet the conditions often follows from a few
// bytes. Owned by `Judge`.

import PlugboardMemory
import PlugboardWire

/// Who is told of the update of which key, and what tells its values from others: a key has at most one write of a
/// revision.
struct JudgedUpdate: BitwiseCopyable {
    /// The serial of the subscription.
    let subscription: UInt64
    let observable: ObservableHandle
    /// The revision of the value before.
    let before: UInt64
    /// The revision of the update.
    let revision: UInt64
}

/// Where the parts of a filter are in a value of a key, and whether that meets its conditions.
struct KnownShape: BitwiseCopyable {
    /// The serial of the filter's subscription; 0 if nothing is known.
    private(set) var subscription: UInt64 = 0
    private(set) var observable = ObservableHandle.none
    private(set) var revision: UInt64 = 0
    /// Whether the value meets the conditions; true if there are none.
    private(set) var isIn = true
    /// How often others wanted its place since it was needed.
    fileprivate(set) var misses: UInt8 = 0
    /// Where the parts are that the conditions ask about.
    private(set) var conditions = KnownPlaces()
    /// Where the named parts are.
    private(set) var parts = KnownPlaces()

    init() {}

    /// What is known of the value of an update.
    init(_ update: JudgedUpdate, isIn: Bool, conditions: KnownPlaces, parts: KnownPlaces) {
        (subscription, observable, revision) = (update.subscription, update.observable, update.revision)
        (self.isIn, self.conditions, self.parts) = (isIn, conditions, parts)
    }

    /// Whether its parts are at other places in the value before.
    @inline(__always) var haveMoved: Bool { conditions.haveMoved || parts.haveMoved }
    /// How many bytes all its parts have, which are compared with those of the next value.
    @inline(__always) var bytes: Int { conditions.bytes + parts.bytes }

    @inline(__always)
    fileprivate func isOf(_ update: JudgedUpdate) -> Bool {
        subscription == update.subscription && observable == update.observable
    }

    /// It is about the value of an update from now on, which has the same shape.
    @inline(__always)
    mutating func noteNext(_ update: JudgedUpdate, isIn: Bool) {
        (revision, self.isIn, misses) = (update.revision, isIn, 0)
    }

    /// The next value has the same shape. If its parts stay where they were, that needs to be said only after they have
    /// moved.
    mutating func move(by shift: borrowing ShapeShift) {
        conditions.move(by: shift)
        parts.move(by: shift)
    }
}

/// What is known of the last values, for each subscription and key at one place. Of two that have the same place, one is
/// forgotten.
struct KnownShapes: ~Copyable {
    /// There are so many places at the beginning, and at most. Powers of two.
    static let placesMin = 64
    static let placesMax = 4_096
    /// What has a place in vain so often is forgotten.
    private static let missesMax: UInt8 = 8
    private var all = List<KnownShape>()

    init() {}

    var isEmpty: Bool { all.isEmpty }
    /// How many places there are.
    var placesCount: Int { all.count }

    /// Calls `body` with all that is known.
    func forEach<Failure: Error>(_ body: (KnownShape) throws(Failure) -> Void) throws(Failure) {
        for place in all.indices where all[place].subscription != 0 { try body(all[place]) }
    }

    subscript(place: Int) -> KnownShape {
        @inline(__always)
        _read { yield all[place] }
        @inline(__always)
        _modify { yield &all[place] }
    }

    /// The place of what is known of the value before an update; nil if nothing is.
    @inline(__always)
    func find(_ update: JudgedUpdate) -> Int? {
        if all.isEmpty { return nil }
        let place = place(of: update.subscription, update.observable)
        return all[place].isOf(update) && all[place].revision == update.before ? place : nil
    }

    /// Where to keep what will be known of an update; nil if it isn't worthwhile to find that out.
    mutating func placeToLearn(_ update: JudgedUpdate) -> Int? {
        if all.isEmpty { all = List(repeating: KnownShape(), count: Self.placesMin) }
        while true {
            let place = place(of: update.subscription, update.observable)
            if all[place].subscription == 0 || all[place].isOf(update) { return place }
            if all.count < Self.placesMax {
                grow()
                continue
            }
            all[place].misses += 1
            return all[place].misses > Self.missesMax ? place : nil
        }
    }

    mutating func keep(_ shape: KnownShape, at place: Int) { all[place] = shape }

    /// Forgets everything.
    mutating func removeAll() { all = List() }

    @inline(__always)
    private func place(of subscription: UInt64, _ observable: ObservableHandle) -> Int {
        let mixed = (subscription &+ UInt64(observable.slot) &<< 32) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed &>> 40) & (all.count &- 1)
    }

    private mutating func grow() {
        var smaller = List<KnownShape>(repeating: KnownShape(), count: all.count * 2)
        swap(&smaller, &all)
        for place in smaller.indices where smaller[place].subscription != 0 {
            all[self.place(of: smaller[place].subscription, smaller[place].observable)] = smaller[place]
        }
    }
}
