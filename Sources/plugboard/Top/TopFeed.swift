// Collects the data of `top`. It observes the broker's own keys, and which other keys change, without their
// values. At the end of each period it asks the broker for its totals, so that these and the observed changes
// are counted over the same time.

import PlugboardPosix
import PlugboardWire

/// Fills the state, a period at a time.
struct TopFeed {
    /// How long to wait for the current values at the start.
    private static let firstSeconds = 0.2
    /// How long a picture waits for the broker's totals.
    private static let answerSeconds = 1.0

    private(set) var state: TopState
    private let observation: ResumingConnection
    private let seconds: Double
    private var start = MonotonicClock.nanoseconds()
    private var end: UInt64
    /// Until when `top` waits for the totals; nil if it hasn't asked for them.
    private var answerDue: UInt64?

    /// Subscribes. The first period is short, so that there is soon something to show, unless it
    /// `isWhole`.
    init(_ observation: ResumingConnection, title: String, patterns: [String], seconds: Double, isWhole: Bool)
        throws
    {
        self.observation = observation
        self.seconds = seconds
        state = TopState(title: title)
        let changes = ObjectWriter(op: "subscribe").adding("keys", strings: patterns)
            .adding("initial", false, unless: true)
            .adding("values", false, unless: true)
        // One line for each key and period is enough: it says how many changes were folded into it.
        let every = observation.connection.offers("every") ? UInt64(max(1, seconds * 1_000 / 2)) : nil
        try observation.ask(
            ResumableRequest(try changes.adding("every", every).checked(), .subscription(hasInitial: false))
        )
        let own = ObjectWriter(op: "subscribe").adding("keys", strings: TopKeys.observed)
        try observation.ask(ResumableRequest(own, .present))
        end = start + UInt64((isWhole ? seconds : min(seconds, Self.firstSeconds)) * 1e9)
        try observation.send(TopKeys.askingForStats)
    }

    /// Takes lines until the period is over. If it throws `Interrupted` before that, the next call continues.
    mutating func gather() throws {
        while true {
            let now = MonotonicClock.nanoseconds()
            let until = answerDue ?? end
            if now >= until {
                guard answerDue == nil, !observation.isApart else { return endPeriod(now) }
                answerDue = now + UInt64(Self.answerSeconds * 1e9)
                try observation.send(TopKeys.askingForStats)
                continue
            }
            let left = Int32(clamping: (until - now + 999_999) / 1_000_000)
            guard let line = try observation.nextLine(milliseconds: left) else { continue }
            state.take(line)
            if answerDue != nil, Self.isAnswer(line) { return endPeriod(MonotonicClock.nanoseconds()) }
        }
    }

    /// Totals that a policy hides never come.
    private static func isAnswer(_ line: BrokerLine) -> Bool {
        switch line.kind {
        case .ok, .error: true
        case .event, .unknown: false
        }
    }

    private mutating func endPeriod(_ now: UInt64) {
        state.isApart = observation.isApart
        state.endPeriod(seconds: Double(now - start) / 1e9)
        start = now
        end = now + UInt64(seconds * 1e9)
        answerDue = nil
    }
}
