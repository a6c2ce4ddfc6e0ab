// The broker's own values, as far as `top` shows them. Missing members are left out.

import PlugboardWire

/// `$broker.stats`. Its rates are computed here from the totals, over the same time as the rates of
/// the keys.
struct TopStats {
    private static let counted = ["lines", "writes", "events", "received", "sent"]

    private var object: JSONObject?
    private var totals: [String: RecentTotal] = [:]
    /// Calls that were asked, and those that failed.
    private var asked = RecentTotal()
    private var failed = RecentTotal()

    mutating func take(_ object: JSONObject) {
        self.object = object
        let calls = object["calls"]?.object
        asked.note(total: calls?["asked"]?.integer)
        failed.note(total: calls?["failed"]?.integer)
        guard let told = object["totals"]?.object else { return }
        for name in Self.counted { totals[name, default: RecentTotal()].note(total: told[name]?.integer) }
    }

    mutating func endPeriod(_ periods: RecentPeriods) {
        for name in totals.keys { totals[name]?.endPeriod(periods) }
        asked.endPeriod(periods)
        failed.endPeriod(periods)
    }

    /// The figures as they are shown, the most important first; nil if the broker sent none.
    func figures(_ periods: RecentPeriods) -> [String]? {
        guard let object else { return nil }
        let latency = object["latency"]?.object
        let slow = object["slow"]?.integer ?? 0
        let figures: [String?] = [
            rate("writes", periods).map { "writes \(Amount.rate($0))/s" },
            rate("events", periods).map { "events \(Amount.rate($0))/s" },
            calls(periods),
            object["clients"].map { "clients \(Self.count($0))" + (slow > 0 ? " (\(slow) slow)" : "") },
            object["keys"].map { "keys \(Self.count($0))" },
            object["memory"]?.integer.map { "memory \(Amount.bytes($0))" },
            latency?["mean"].map {
                "loop \(Self.time($0))" + (latency?["max"].map { ", at most \(Self.time($0))" } ?? "")
            },
            rate("received", periods).map { "in \(Amount.bytes(UInt64($0)))/s" },
            rate("sent", periods).map { "out \(Amount.bytes(UInt64($0)))/s" },
            object["subscriptions"].map { "subscriptions \(Self.count($0))" },
            object["revision"].map { "revision \(Self.count($0))" },
            object["uptime"]?.integer.map { "up \(Amount.age(seconds: $0))" },
        ]
        return figures.compactMap { $0 }
    }

    /// `calls 12/s (0.1/s failed), answered after 120 µs, at most 3 ms`; nil if nothing was called yet.
    private func calls(_ periods: RecentPeriods) -> String? {
        guard let calls = object?["calls"]?.object, calls["asked"]?.integer ?? 0 > 0 else { return nil }
        let failures = failed.rate(periods) > 0 ? " (\(Amount.rate(failed.rate(periods)))/s failed)" : ""
        let waiting = calls["waiting"]?.integer ?? 0
        let rest = [
            waiting > 0 ? "\(Amount.count(waiting)) waiting" : nil,
            calls["mean"]?.integer == 0 ? nil : calls["mean"].map { "answered after \(Self.time($0))" },
            calls["max"]?.integer == 0 ? nil : calls["max"].map { "at most \(Self.time($0))" },
        ]
        return (["calls \(Amount.rate(asked.rate(periods)))/s\(failures)"] + rest.compactMap(\.self))
            .joined(separator: ", ")
    }

    private func rate(_ name: String, _ periods: RecentPeriods) -> Double? {
        totals[name]?.rate(periods)
    }

    private static func count(_ value: JSONValue) -> String {
        value.integer.map(Amount.count) ?? "?"
    }

    /// The text for a number of microseconds.
    private static func time(_ value: JSONValue) -> String {
        value.integer.map { Amount.duration(microseconds: Double($0)) } ?? "?"
    }
}

/// `$broker.clients.<n>`, with the client's rates.
struct TopClient {
    enum State: Int {
        case lagging, paused, live
    }

    let number: UInt64
    private(set) var name = ""
    private(set) var pid: UInt64?
    private(set) var state = State.live
    private(set) var subscriptions: UInt64 = 0
    /// Bytes that wait for the client.
    private(set) var queued: UInt64 = 0
    /// Keys that the broker owes the client.
    private(set) var owed: UInt64 = 0
    /// Lines from the client.
    private(set) var lines = RecentTotal()
    /// Bytes to the client.
    private(set) var sent = RecentTotal()

    init(number: UInt64) {
        self.number = number
    }

    /// Applies the broker's present value.
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
        lines.note(total: object["lines"]?.integer)
        sent.note(total: object["sent"]?.integer)
    }

    mutating func endPeriod(_ periods: RecentPeriods) {
        lines.endPeriod(periods)
        sent.endPeriod(periods)
    }
}

/// One of `$broker.warnings`.
struct TopWarning {
    let text: String

    init?(_ value: JSONValue) {
        guard let object = value.object, let message = object["message"]?.string else { return nil }
        let times = object["times"]?.integer.map { $0 > 1 ? " (\($0) times)" : "" } ?? ""
        // Of `2026-11-21T13:05:00.123Z`, the time of day is enough.
        let when = object["when"]?.string.map { "\($0.dropFirst(11)) " } ?? ""
        text = "\(when)\(message)\(times)"
    }
}
