// Which emits of a subscription are accounted for, because they came or were counted as missed, and how many
// it has missed. An emit has no revision of its own: it carries the newest one. So what counts is the newest
// revision, and how many emits of it there were.

/// The tally of a subscription's emits. A `ResumePoint` owns it.
struct EmitTally {
    /// Nil if emits aren't counted.
    var place: Place.Emits?
    /// How many were missed before this connection, until an event has told it.
    private var missed: Int?

    /// A broker has accepted the subscription.
    /// - Parameter isKnown: whether it was asked from the place on.
    mutating func begin(_ reply: Reply, isKnown: Bool) {
        guard let emits = reply.emits else {
            (place, missed) = (nil, nil)
            return
        }
        let accounted = isKnown ? place?.count : nil
        missed = accounted.flatMap { accounted in emits.missed.map { max(0, $0 - accounted) } }
        place = Place.Emits(revision: reply.revision, count: emits.latest)
    }

    mutating func note(_ event: Event) {
        guard let known = place else { return }
        if event.revision > known.revision { place = Place.Emits(revision: event.revision, count: 0) }
        if event.kind == .emit, event.revision >= known.revision { place?.count += 1 }
    }

    mutating func takeMissed() -> Int? { missed.take() }
}
