// Finds out what is new, and which changes of `indicator.<sku>` and `banner` follow from
// it. It knows nothing of the connection. Invariant: after `take`, `shown` is what the bus
// was asked to have.

import PlugboardClient

/// The state of this plugin.
struct ReviewNews {
    /// A key and its new value; nil if the key is to be deleted.
    typealias Change = (key: String, value: JSON?)

    private var reviews: [String: Reviews] = [:]
    /// A product's number of reviews when it was last seen, or when this plugin first heard of it.
    private var seen: [String: Int] = [:]
    private var screen = Screen.other
    /// The indicators and the banner that are on the bus.
    private var shown: [String: JSON] = [:]
    /// Whether the snapshot is complete. Before that, no changes follow from it.
    private var isSynced = false

    /// Takes in one event. Returns the changes that the bus needs because of it.
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
            // This plugin also gets its own writes. Only what it finds in a snapshot is news.
            if event.isInitial { shown[event.key] = event.value }
        }
        return isSynced ? changes(of: touched) : []
    }

    /// A new snapshot tells everything again. After a reconnection that may be less than before.
    private mutating func beginSnapshotIfNeeded() {
        guard isSynced else { return }
        isSynced = false
        shown = [:]
    }

    /// Ends a snapshot. After a restart of this plugin, an indicator on the bus tells how many
    /// reviews had been seen.
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

    /// Goes to another screen. What the old screen showed is now seen, except the product whose
    /// detail screen comes next. Returns the products that may change.
    private mutating func turn(to next: Screen) -> [String] {
        guard next != screen else { return [] }
        for (sku, reviews) in reviews where screen.shows(sku) && next != .detail(sku: sku) {
            seen[sku] = reviews.count
        }
        screen = next
        return Array(reviews.keys)
    }

    /// The changes that make the bus show what these products need.
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
