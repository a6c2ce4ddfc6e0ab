// The state of `top`: the broker's own values, and how often keys change. Values that a broker doesn't have
// are left out of the picture.

import PlugboardPosix
import PlugboardWire

/// The data to show.
struct TopState {
    /// The title: the command and the broker's path.
    let title: String
    private(set) var keys = KeyRates()
    private(set) var periods = RecentPeriods()
    private var stats = TopStats()
    /// Whether there is no broker now.
    var isApart = false
    private(set) var warnings: [TopWarning] = []
    private var byNumber: [UInt64: TopClient] = [:]

    init(title: String) {
        self.title = title
    }

    var clientCount: Int { byNumber.count }

    /// The clients: first lagging ones, then paused ones, ordered by what waits for them; then the others,
    /// ordered by their activity.
    var clients: [TopClient] {
        byNumber.values.map { client in (client, order(client)) }.sorted { first, second in
            if first.0.state != second.0.state { return first.0.state.rawValue < second.0.state.rawValue }
            if first.1 != second.1 { return first.1 > second.1 }
            return first.0.number < second.0.number
        }
        .map(\.0)
    }

    /// The two numbers that order clients of one state, the more important one first.
    private func order(_ client: TopClient) -> (Double, Double) {
        client.state == .live
            ? (client.lines.rate(periods), client.sent.rate(periods))
            : (Double(client.owed), Double(client.queued))
    }

    /// The broker's figures; if it has none, those that `top` has counted.
    var figures: [String] {
        if isApart { return ["the broker is gone; waiting for it to come back"] }
        return stats.figures(periods) ?? ["changes \(Amount.rate(keys.rate(periods)))/s"]
    }

    /// Applies a line from the broker.
    mutating func take(_ line: BrokerLine) {
        guard let event = Self.event(line), let key = line["key"]?.string else { return }
        guard key.hasPrefix(TopKeys.prefix) else {
            let count = 1 &+ (line["skipped"]?.integer ?? 0)
            return keys.note(key, by: line["by"]?.string ?? "", count: count)
        }
        let value = event == "update" ? line["value"] : nil
        switch key {
        case TopKeys.stats: if let object = value?.object { stats.take(object) }
        case TopKeys.warnings: warnings = (value?.array ?? []).compactMap(TopWarning.init)
        default: takeClient(key, value?.object)
        }
    }

    /// The reply to a `get` counts like an event.
    private static func event(_ line: BrokerLine) -> String? {
        switch line.kind {
        case .event(let event): event
        case .ok("get"): "update"
        case .ok, .error, .unknown: nil
        }
    }

    /// Ends a period of this many seconds.
    mutating func endPeriod(seconds: Double) {
        keys.endPeriod(periods)
        stats.endPeriod(periods)
        for number in byNumber.keys { byNumber[number]?.endPeriod(periods) }
        periods.end(seconds: seconds)
    }

    private mutating func takeClient(_ key: String, _ value: JSONObject?) {
        guard key.hasPrefix(TopKeys.clients), let number = UInt64(key.dropFirst(TopKeys.clients.count)) else {
            return
        }
        guard let value else {
            byNumber[number] = nil
            return
        }
        byNumber[number, default: TopClient(number: number)].take(value)
    }
}

/// The keys in which the broker describes itself.
enum TopKeys {
    static let prefix = "$broker."
    static let stats = "$broker.stats"
    static let warnings = "$broker.warnings"
    static let clients = "$broker.clients."
    static let services = "$broker.services"
    static let observed = [warnings, clients + "*"]
    static let askingForStats = ObjectWriter(op: "get").adding("key", string: stats)
}
