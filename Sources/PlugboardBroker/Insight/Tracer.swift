// A tracer: a subscription that traces, with its patterns and its limit. Owned by `Tracing`, which gives it a
// number.

import PlugboardWire

/// A subscription that traces, and its patterns.
struct Tracer {
    /// `.none` if the number is free.
    let subscription: SubscriptionHandle
    /// The session of the subscription.
    let session: SessionHandle
    let patterns: [[UInt8]]
    /// The places of the patterns in the tree.
    var standing: [TracerPlace] = []
    /// The last search that found it. It may have several matching patterns.
    var lastSearch: UInt64 = 0
    /// How many events it gets in a time; nil if all.
    var limit: TraceLimit?
    /// It isn't told of writes.
    var onlyCalls = false
    /// Writes that were dropped for it, as it was not told yet.
    var gap: Gap?
    /// Its number is in `withGap`, perhaps for an earlier tracer with this number.
    var isListed = false

    mutating func drop(_ revision: UInt64) {
        if gap == nil { gap = Gap(dropped: 0, first: revision, last: revision) }
        gap?.dropped += 1
        gap?.last = revision
    }

    /// It is told nothing until its rest is over.
    var isResting: Bool { limit?.isReached == true }

    /// Whether it is told this note of the turn, if it wants it.
    func isTold(_ place: Int) -> Bool { limit?.told.contains(place) != false }

    /// Another entry of the tree was removed, so one of its own has moved.
    mutating func noteMoved(_ node: PatternNode<Int>, from last: Int, to index: Int) {
        for place in standing.indices where standing[place].node === node && standing[place].index == last {
            standing[place].index = index
            return
        }
    }
}

/// The place of a tracer's pattern in the tree.
struct TracerPlace {
    let node: PatternNode<Int>
    var index: Int
}
