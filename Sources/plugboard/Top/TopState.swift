// What `top` knows: what the broker says about itself, and how often keys change. What a broker
// doesn't say is left out of the picture.

import PlugboardPosix
import PlugboardWire

/// All that is to be shown.
struct TopState {
    /// Where the broker is, and what this is, for the title.
    let title: String
    private(set) var keys = KeyRates()
    private(set) var periods = RecentPeriods()
    private var stats = TopStats()
    /// There is no broker now.
    var isApart = false
    private(set) var warnings: [TopWarning] = []
    private var byNumber: [UInt64: TopClient] = [:]

    init(title: String) {
        self.title = title
    }

    var clientCount: Int { byNumber.count }

    /// Lagging clients first, then paused ones, by what waits for them; the others by their
    /// activity.
    var clients: [TopClient] {
        byNumber.values.map { client in (client, order(client)) }.sorted { first, second in
            if first.0.state != second.0.state { return first.0.state.rawValue < second.0.state.rawValue }
            if first.1 != second.1 { return first.1 > second.1 }
            return first.0.number < second.0.number
        }
        .map(\.0)
    }

    /// More of what matters in a client's state, in the order in which it matters.
    private func order(_ client: TopClient) -> (Double, Double) {
        client.state == .live
            ? (client.lines.rate(periods), client.sent.rate(periods))
            : (Double(client.owed), Double(client.queued))
    }

    /// The broker's figures, or if it has none, what `top` has counted.
    var figures: [String] {
        if isApart { return ["the broker is gone; waiting for it to come back"] }
        return stats.figures(periods) ?? ["changes \(Amount.rate(keys.rate(periods)))/s"]
    }

    /// Takes a line of the broker's.
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

    /// The reply to a `get` is as good as an event.
    private static func event(_ line: BrokerLine) -> String? {
        switch line.kind {
        case .event(let event): event
        case .ok("get"): "update"
        case .ok, .error, .unknown: nil
        }
    }

    /// A period of so many seconds is over.
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
    static let observed = [warnings, clients + "*"]
    static let askingForStats = ObjectText(op: "get").adding("key", string: stats)
}
