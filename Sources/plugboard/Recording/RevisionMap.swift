// Maps revisions of a recording to those of the bus, so that a write names its cause by the new
// revision.

/// The latest revisions of a recording, with those that they were given when played.
struct RevisionMap {
    /// As many as a broker remembers causes.
    static let countMax = 65_536

    private var played: [UInt64: UInt64] = [:]
    /// In the order in which they came, as a ring.
    private var order: [UInt64] = []
    private var oldest = 0

    /// The new revision for a recorded one; nil if it wasn't played, or too long ago.
    subscript(recorded: UInt64) -> UInt64? { played[recorded] }

    /// The first one stays: an event that is only passed on has the revision of the write
    /// before it.
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
