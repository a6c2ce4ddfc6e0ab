// The two ways of treating what an observer could not be told at once.

/// What becomes of events that have to wait.
enum Delivery: UInt8 {
    /// Updates of a key are folded into the newest.
    case latest
    /// Each is kept, as far as there is room.
    case all
}
