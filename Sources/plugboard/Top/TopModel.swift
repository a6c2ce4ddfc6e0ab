// What a broker says of itself, as far as `top` shows it. Members are read where they
// are, and missed where they aren't.

import PlugboardWire

/// `$broker.stats`.
struct TopStats {
    /// Each as it is shown, those that matter most first.
    let figures: [String]

    init(_ object: JSONObject) {
        let rates = object["rates"]?.object
        let latency = object["latency"]?.object
        let slow = object["slow"]?.integer ?? 0
        let figures: [String?] = [
            rates?["writes"].map { "writes \(Self.count($0))/s" },
            rates?["events"].map { "events \(Self.count($0))/s" },
            object["clients"].map { "clients \(Self.count($0))" + (slow > 0 ? " (\(slow) slow)" : "") },
            object["keys"].map { "keys \(Self.count($0))" },
            object["memory"]?.integer.map { "memory \(Quantity.bytes($0))" },
            latency?["mean"].map {
                "loop \(Self.time($0))" + (latency?["max"].map { ", at most \(Self.time($0))" } ?? "")
            },
            rates?["received"]?.integer.map { "in \(Quantity.bytes($0))/s" },
            rates?["sent"]?.integer.map { "out \(Quantity.bytes($0))/s" },
            object["subscriptions"].map { "subscriptions \(Self.count($0))" },
            object["revision"].map { "revision \(Self.count($0))" },
            object["uptime"]?.integer.map { "up \(Quantity.age(seconds: $0))" },
        ]
        self.figures = figures.compactMap { $0 }
    }

    private static func count(_ value: JSONValue) -> String {
        value.integer.map(Quantity.count) ?? "?"
    }

    /// Of microseconds.
    private static func time(_ value: JSONValue) -> String {
        value.integer.map { Quantity.duration(microseconds: Double($0)) } ?? "?"
    }
}

/// `$broker.clients.<n>`, with what it does.
struct TopClient {
    enum State: Int {
        case lagging, paused, live
    }

    let number: UInt64
    private(set) var name = ""
    private(set) var pid: UInt64?
    private(set) var state = State.live
    private(set) var subscriptions: UInt64 = 0
    /// Bytes that wait for it.
    private(set) var queued: UInt64 = 0
    /// Keys that it is owed.
    private(set) var owed: UInt64 = 0
    /// Lines from it.
    private(set) var lines = RecentCount()
    /// Bytes to it.
    private(set) var sent = RecentCount()
    private var linesTold: UInt64?
    private var sentTold: UInt64?

    init(number: UInt64) {
        self.number = number
    }

    /// Takes what the broker says of it now.
    mutating func take(_ object: JSONObject) {
        name = object["name"]?.string ?? "#\(number)"
        pid = object["pid"]?.integer
        state =
            switch object["state"]?.string {
            case "lagging": .lagging
            case "paused": .paused
            default: .live
            }
        subscriptions = object["subscriptions"]?.integer ?? 0
        queued = object["queued"]?.integer ?? 0
        owed = object["owed"]?.integer ?? 0
        Self.note(object["lines"]?.integer, &linesTold, &lines)
        Self.note(object["sent"]?.integer, &sentTold, &sent)
    }

    mutating func endPeriod(_ periods: RecentPeriods) {
        lines.endPeriod(periods)
        sent.endPeriod(periods)
    }

    /// The broker tells totals: what came before this was watched is none of its rate.
    private static func note(_ told: UInt64?, _ before: inout UInt64?, _ count: inout RecentCount) {
        guard let told else { return }
        if let before, told > before { count.note(told - before) }
        before = told
    }
}

/// One of `$broker.warnings`.
struct TopWarning {
    let text: String

    init?(_ value: JSONValue) {
        guard let object = value.object, let message = object["message"]?.string else { return nil }
        let times = object["times"]?.integer.map { $0 > 1 ? " (\($0) times)" : "" } ?? ""
        // `2026-11-21T13:05:00.123Z`, of which the time of day is enough.
        let when = object["when"]?.string.map { "\($0.dropFirst(11).prefix(8)) " } ?? ""
        text = "\(when)\(message)\(times)"
    }
}
