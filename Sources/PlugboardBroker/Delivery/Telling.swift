// What an observer is told of an event, and the last result of that. Owned by `Judge`.

import PlugboardMemory
import PlugboardWire

/// What an observer is told of an event.
enum Telling {
    /// Nothing, because of its filter.
    case nothing
    /// The event as it is.
    case event
    /// That the value doesn't match any more.
    case leaving
    /// Parts of the value, or a patch.
    case change
    /// The patch of the present event, which is the same for all.
    case patch

    /// Whether a piece is told in place of the value.
    var isPiece: Bool { self == .change || self == .patch }
}

/// The result for the event or owed value that was judged last. The next observer with the same filter is
/// told the same.
struct Judgement {
    /// The event's number in the turn's log; for an owed value, its revision.
    private var number: UInt64 = 0
    /// For an owed value, the value before. It also identifies the key.
    private var held: HeldBytes?
    private var filter: Filter?
    private var hash: UInt64 = 0
    private var wasSent = false
    private var telling = Telling.nothing

    init() {}

    /// The known result for a filter; nil if there is none.
    @inline(__always)
    func telling(_ number: UInt64, since held: HeldBytes?, wasSent: Bool, _ filter: Filter) -> Telling? {
        guard self.number == number, hash == filter.hash, self.held === held, self.wasSent == wasSent,
            let judged = self.filter, filter.asksTheSame(as: judged)
        else { return nil }
        return telling
    }

    /// Keeps a result. The piece of a `change` stays in `Judge`.
    mutating func keep(
        _ telling: Telling,
        _ number: UInt64,
        since held: HeldBytes?,
        wasSent: Bool,
        _ filter: Filter
    ) {
        (self.number, self.wasSent, self.telling) = (number, wasSent, telling)
        (self.held, self.filter, hash) = (held, filter, filter.hash)
    }

    /// The piece is about to be overwritten.
    mutating func forget() {
        number = 0
        if held != nil { held = nil }
    }
}
