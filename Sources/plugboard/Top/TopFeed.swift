// What `top` gathers: it observes what the broker says of itself, and which keys change,
// without their values.

import PlugboardPosix

/// Fills the state, a period at a time.
struct TopFeed {
    /// Enough for the values that are there at the start.
    private static let firstSeconds = 0.2

    /// How it is called in its own table.
    private static let clientName = "top"

    private(set) var state: TopState
    private let connection: Connection
    private let seconds: Double
    private var start = MonotonicClock.nanoseconds()
    private var end: UInt64

    /// Subscribes. The first period is short unless it `isWhole`, so that there is something to
    /// show.
    init(_ connection: Connection, title: String, patterns: [String], seconds: Double, isWhole: Bool) throws {
        self.connection = connection
        self.seconds = seconds
        state = TopState(title: title)
        _ = try connection.accepted(RequestLine("hello").adding("name", string: Self.clientName))
        let features = connection.greeting?["features"]?.strings ?? []
        let changes = RequestLine("subscribe").adding("keys", strings: patterns)
            .adding("initial", false, unless: true)
            .adding("values", false, unless: true)
        // A line a period for each key is enough: it says how many changes it stands for.
        let every = features.contains("every") ? UInt64(max(1, seconds * 1_000 / 2)) : nil
        _ = try connection.accepted(changes.adding("every", every))
        _ = try connection.accepted(RequestLine("subscribe").adding("keys", strings: TopKeys.all))
        end = start + UInt64((isWhole ? seconds : min(seconds, Self.firstSeconds)) * 1e9)
    }

    /// Takes what comes until the period is over. `Interrupted` may be thrown before that;
    /// the next call goes on then.
    mutating func gather() throws {
        while true {
            let now = MonotonicClock.nanoseconds()
            guard now < end else { return endPeriod(now) }
            let left = Int32(clamping: (end - now + 999_999) / 1_000_000)
            if let line = try connection.nextLine(milliseconds: left) { state.take(line) }
        }
    }

    private mutating func endPeriod(_ now: UInt64) {
        state.endPeriod(seconds: Double(now - start) / 1e9)
        start = now
        end = now + UInt64(seconds * 1e9)
    }
}
