// Maps revisions of a recording to those of the bus, so that a write names its cause by the new
// revision.

/// The latest revisions of a recording, with the revisions that the bus gave their replayed writes.
struct RevisionMap {
    /// The size of the map: as many writes as a broker remembers.
    static let countMax = 65_536

    private var played: [UInt64: UInt64] = [:]
    /// The recorded revisions in the order in which they came, as a ring.
    private var order: [UInt64] = []
    private var oldest = 0

    /// The new revision for a recorded one; nil if it wasn't played, or too long ago.
    subscript(recorded: UInt64) -> UInt64? { played[recorded] }

    /// If a revision comes again, the first entry stays: an emit has the revision of the write before it.
    mutating func note(_ recorded: UInt64, as revision: UInt64) {
        guard played[recorded] == nil else { return }
        if order.count < Self.countMax {
            order.append(recorded)
        } else {
            played[order[oldest]] = nil
            order[oldest] = recorded
            oldest = (oldest + 1) % Self.countMax
        }
        played[recorded] = revision
    }
}
