// One who traces: a subscription, with its patterns and its limit. Owned by `Tracing`, which names it by a
// number.

import PlugboardWire

/// A subscription that traces, and its patterns.
struct Tracer {
    /// `.none` where the number is free.
    let subscription: SubscriptionHandle
    /// Whose that is.
    let session: SessionHandle
    let patterns: [[UInt8]]
    /// Where these stand in the tree.
    var standing: [TracerPlace] = []
    /// The last search that has found it: it may have several patterns that match.
    var lastSearch: UInt64 = 0
    /// How many events it gets in a time; nil for all.
    var limit: TraceLimit?
    /// The writes for which there was no room and that it was not told of yet.
    var gap: Gap?
    /// Its number is among those with a gap, or was when it had another tracer.
    var isListed = false

    mutating func drop(_ revision: UInt64) {
        if gap == nil { gap = Gap(dropped: 0, first: revision, last: revision) }
        gap?.dropped += 1
        gap?.last = revision
    }

    /// It is told nothing until its time is over.
    var isResting: Bool { limit?.isReached == true }

    /// Whether it is told of this note of the turn, if that concerns it.
    func isTold(_ place: Int) -> Bool { limit?.told.contains(place) != false }

    /// Another entry of the tree was removed.
    mutating func noteMoved(_ node: PatternNode<Int>, from last: Int, to index: Int) {
        for place in standing.indices where standing[place].node === node && standing[place].index == last {
            standing[place].index = index
            return
        }
    }
}

/// Where a pattern of a tracer stands.
struct TracerPlace {
    let node: PatternNode<Int>
    var index: Int
}
