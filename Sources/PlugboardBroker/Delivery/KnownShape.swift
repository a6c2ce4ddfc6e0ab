// What a filter knows of the last value that was compared with it. Most values have the shape of the one before, so
// their parts are where they were, and whether they meet the conditions often follows from a few bytes. Owned by
// `Filter`.

import PlugboardMemory
import PlugboardWire

/// The key whose update is judged, and what tells its values from others: a key has at most one write of a revision.
struct JudgedKey: BitwiseCopyable {
    let observable: ObservableHandle
    /// The revision of the value before.
    let before: UInt64
    /// The revision of the update.
    let revision: UInt64
}

/// Where the parts of a filter are in a value, and whether that meets its conditions.
struct KnownShape {
    /// A filter that is asked about many keys learns the shape of another one after so many questions in vain.
    private static let missesMax: UInt8 = 8

    private(set) var observable = ObservableHandle.none
    private(set) var revision: UInt64 = 0
    private var misses: UInt8 = 0
    /// Whether the value meets the conditions; true if there are none.
    private(set) var isIn = true
    /// Where the parts are that the conditions ask about; nil if there are no conditions.
    private(set) var conditions: KnownPlaces?
    /// Where the named parts are; nil if none is named.
    private(set) var parts: KnownPlaces?
    /// How many bytes all these parts have, which are compared with those of the next value.
    private(set) var bytes = 0

    init() {}

    init(isIn: Bool, conditions: KnownPlaces?, parts: KnownPlaces?) {
        (self.isIn, self.conditions, self.parts) = (isIn, conditions, parts)
        bytes = (conditions?.bytes ?? 0) + (parts?.bytes ?? 0)
    }

    /// Whether it is about the value before an update.
    func isKnown(_ key: JudgedKey) -> Bool { observable == key.observable && revision == key.before }

    /// It is about the value of an update from now on.
    mutating func note(_ key: JudgedKey) { (observable, revision) = (key.observable, key.revision) }

    /// The same for a value of the same shape.
    mutating func noteNext(_ key: JudgedKey, isIn: Bool) {
        (revision, self.isIn) = (key.revision, isIn)
    }

    /// Whether it should be about another value, which takes some time to find out about.
    mutating func mayLearn(_ key: JudgedKey) -> Bool {
        if observable == key.observable || observable == .none || misses >= Self.missesMax { return true }
        misses += 1
        return false
    }
}
