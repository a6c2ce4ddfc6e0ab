// Foretells where the observable of the next publish is. Clients mostly publish one key again and again, or their
// keys in turn, in the order in which they made them. Then the slots are as far from each other each time, and
// the key need not be looked up, only compared. Owned by `PublishGroup`.

/// The slots of the last two observables, and how often the next one was as far away.
struct SlotForecast: BitwiseCopyable {
    /// After so many in a row, memory is asked for in the order that is foretold.
    static let reliableMin = PublishGroup.publishesMax
    private var last: UInt32 = 0
    private var step: UInt32 = 0
    /// How many slots in a row were foretold.
    private var hits = 0

    @inline(__always) var isReliable: Bool { hits >= Self.reliableMin }

    /// The next slot. It may be any number.
    @inline(__always) var next: UInt32 { following(last) }

    /// The next slot; 0 if the last one wasn't foretold, and it isn't worthwhile to look there.
    @inline(__always) var probable: UInt32 { hits > 0 ? next : 0 }

    /// The slot after another, if that is as far away as the last two are.
    @inline(__always)
    func following(_ slot: UInt32) -> UInt32 { slot &+ step }

    /// What one client publishes says nothing of the next one.
    mutating func forget() { hits = 0 }

    /// Notes where an observable was found.
    @inline(__always)
    mutating func note(_ slot: UInt32) {
        hits = slot == next ? hits &+ 1 : 0
        step = slot &- last
        last = slot
    }
}
