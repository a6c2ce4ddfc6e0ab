// What is new, and what is to be told of it: from events to changes of `indicator.<sku>`
// and `banner`. Knows nothing of the connection. What always holds after `take`: `shown`
// is what was asked to be on the bus.

import PlugboardClient

/// The state of this plugin.
struct ReviewNews {
    /// A key and its new value; nil: to be deleted.
    typealias Change = (key: String, value: JSON?)

    private var reviews: [String: Reviews] = [:]
    /// A product's number of reviews when it was last seen, or first heard of.
    private var seen: [String: Int] = [:]
    private var screen = Screen.other
    /// The indicators and the banner that are on the bus.
    private var shown: [String: JSON] = [:]
    /// Until the snapshot is complete nothing is concluded from it.
    private var isSynced = false

    /// Takes in one event; returns what is to be changed on the bus because of it.
    mutating func take(_ event: Event) -> [Change] {
        if event.isInitial || event.kind == .synced { beginSnapshotIfNeeded() }
        if event.kind == .synced { return settle() }
        if event.kind == .emit || event.kind == .lagged { return [] }
        let touched: [String]
        if let sku = event.key.sku(under: "reviews.") {
            touched = note(event, sku)
        } else if event.key == "screen" {
            touched = turn(to: Screen(event.value))
        } else {
            touched = []
            // What this plugin writes comes back to it; only what it finds is news.
            if event.isInitial { shown[event.key] = event.value }
        }
        return isSynced ? changes(of: touched) : []
    }

    /// A snapshot tells anew what is on the bus; after a reconnection that may be less.
    private mutating func beginSnapshotIfNeeded() {
        guard isSynced else { return }
        isSynced = false
        shown = [:]
    }

    /// The end of a snapshot. An indicator found on the bus tells what had been seen before
    /// this plugin was started again.
    private mutating func settle() -> [Change] {
        isSynced = true
        for (sku, reviews) in reviews where seen[sku] == nil {
            let new = shown[Self.indicator(sku)]?["new"]?.integer ?? 0
            seen[sku] = reviews.count - min(max(0, new), reviews.count)
        }
        let orphans = shown.keys.compactMap { $0.sku(under: "indicator.") }
        return changes(of: Array(Set(reviews.keys).union(orphans)))
    }

    private mutating func note(_ event: Event, _ sku: String) -> [String] {
        reviews[sku] = event.value.flatMap { Reviews($0) }
        if reviews[sku] == nil {
            seen[sku] = nil
        } else if isSynced, seen[sku] == nil {
            seen[sku] = reviews[sku]?.count
        }
        return [sku]
    }

    /// Another screen: what the last one showed was seen, except what this one goes on
    /// to tell of. Returns the products that something may change for.
    private mutating func turn(to next: Screen) -> [String] {
        guard next != screen else { return [] }
        for (sku, reviews) in reviews where screen.shows(sku) && next != .detail(sku: sku) {
            seen[sku] = reviews.count
        }
        screen = next
        return Array(reviews.keys)
    }

    /// What has to change so that the bus shows what these products call for.
    private mutating func changes(of skus: [String]) -> [Change] {
        var wanted: [String: JSON?] = [:]
        for sku in skus { wanted[Self.indicator(sku)] = .some(indicatorValue(sku)) }
        wanted["banner"] = .some(bannerValue())
        let changes = wanted.filter { $0.value != shown[$0.key] }.sorted { $0.key < $1.key }
        for (key, value) in changes { shown[key] = value }
        return changes.map { (key: $0.key, value: $0.value) }
    }

    private func newCount(_ sku: String) -> Int {
        max(0, (reviews[sku]?.count ?? 0) - (seen[sku] ?? .max))
    }

    private func indicatorValue(_ sku: String) -> JSON? {
        guard screen == .list, newCount(sku) > 0 else { return nil }
        return .object(["new": .integer(newCount(sku))])
    }

    private func bannerValue() -> JSON? {
        guard case .detail(let sku) = screen, newCount(sku) > 0, let reviews = reviews[sku] else {
            return nil
        }
        let new = newCount(sku) == 1 ? "1 new review" : "\(newCount(sku)) new reviews"
        let rating = reviews.rating.isEmpty ? "" : ", rated \(reviews.rating)"
        return .object(["sku": .string(sku), "text": .string("\(new), now \(reviews.count)\(rating)")])
    }

    private static func indicator(_ sku: String) -> String { "indicator.\(sku)" }
}

extension String {
    /// The one token that follows `prefix`; nil for any other key.
    fileprivate func sku(under prefix: String) -> String? {
        guard hasPrefix(prefix) else { return nil }
        let sku = String(dropFirst(prefix.count))
        return sku.isKeyToken ? sku : nil
    }
}
