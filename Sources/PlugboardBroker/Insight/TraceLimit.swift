// How many events a tracer gets in a time. After that it rests until the time is over. While all tracers
// rest, a write costs no more than without tracers. Owned by its tracer. What always holds between turns: a
// resting tracer has a deadline that ends the rest.

/// The limit of one tracer, and its place in the present span.
struct TraceLimit {
    /// The span if only the number of events is given, and the number if only the span is given.
    static let millisecondsDefault: UInt32 = 1_000
    static let eventsDefault = 1

    /// How many events it gets in one span.
    let events: Int
    /// The span in nanoseconds.
    private let span: UInt64
    private var count = 0
    /// When the present span ends.
    private(set) var end: UInt64 = 0
    /// The deadline that ends the rest.
    var ticket: DeadlineTicket?
    /// Which notes of this turn the tracer is told: those after its last rest and before the next one.
    private(set) var told = 0..<Int.max

    init(events: Int, milliseconds: UInt32) {
        self.events = events
        span = UInt64(milliseconds) * 1_000_000
    }

    var isReached: Bool { count >= events }

    /// Whether a note is the last one before the rest.
    func isLast(_ place: Int) -> Bool { isReached && place + 1 == told.upperBound }

    /// Counts the event of a note.
    mutating func take(_ place: Int, at now: UInt64) {
        if now >= end { (count, end) = (0, now &+ span) }
        count += 1
        if isReached { told = told.lowerBound..<(place + 1) }
    }

    /// Ends the rest. Notes of this turn that exist already aren't told.
    mutating func wake(after places: Int) {
        (count, end, ticket, told) = (0, 0, nil, places..<Int.max)
    }

    /// The turn has ended.
    mutating func forgetTurn() { told = isReached ? 0..<0 : 0..<Int.max }
}
