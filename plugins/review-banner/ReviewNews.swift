// Finds out what is new, and which changes of `indicator.<sku>`, `banner` and `seen.<sku>` follow from it. It
// knows nothing of the connection. Invariant: after `take`, `shown` is what the bus was asked to have. A
// killed plugin's successor finds all that it needs on the bus.

import PlugboardClient

/// The state of this plugin.
struct ReviewNews {
    /// A key and its new value; nil if the key is to be deleted.
    typealias Change = (key: String, value: JSON?)

    /// The name under which this plugin writes.
    private let writer: String?
    private var reviews: [String: Reviews] = [:]
    /// A product's number of reviews when it was last seen, or when this plugin first heard of it.
    private var seen: [String: Int] = [:]
    /// The number of reviews that the present screen tells of a product with news.
    private var told: [String: Int] = [:]
    private var screen = Screen.other
    /// What the bus has under the keys that this plugin writes.
    private var shown: [String: JSON] = [:]
    /// Whether the snapshot is complete. Before that, no changes follow from it.
    private var isSynced = false
    /// Whether events come that were missed while the connection was down.
    private var isCatchingUp = false

    init(writer: String? = nil) {
        self.writer = writer
    }

    /// Takes in events that came together. Returns the changes that the bus needs because of them. What was
    /// true only in between is never shown.
    mutating func take(_ events: [Event]) -> [Change] {
        var touched: Set<String> = []
        for event in Self.screenFirst(events) { touched.formUnion(note(event)) }
        return isSynced ? changes(of: touched) : []
    }

    /// The bus may not have what it was asked to have. It is asked again after the next `synced`.
    mutating func forget(_ changes: [Change]) {
        for change in changes { shown[change.key] = nil }
    }

    /// Within a revision the screen comes first: what came with a screen was not on the one before.
    private static func screenFirst(_ events: [Event]) -> [Event] {
        var sorted: [Event] = []
        for event in events {
            let first = sorted.lastIndex { $0.revision != event.revision || $0.kind == .synced }.map {
                $0 + 1
            }
            if event.key == "screen", !event.isInitial {
                sorted.insert(event, at: first ?? 0)
            } else {
                sorted.append(event)
            }
        }
        return sorted
    }

    /// Notes an event. Returns the products that it may change.
    private mutating func note(_ event: Event) -> Set<String> {
        if event.isInitial || event.kind == .synced { beginSnapshotIfNeeded(event) }
        if event.isMissed { beginCatchingUpIfNeeded() }
        switch event.kind {
        case .synced: return settle()
        case .emit, .lagged: return []
        case .update, .delete, .leave: break
        }
        if let sku = event.key.sku(under: "reviews.") { return note(event, reviewsOf: sku) }
        if event.key == "screen" { return turn(to: Screen(event.value)) }
        // What this plugin has just written is known. If it comes late, there may be something newer.
        if event.by == writer, writer != nil, event.reason == nil, !event.isInitial, !event.isMissed {
            return []
        }
        shown[event.key] = event.value
        if let sku = event.key.sku(under: "seen.") { return note(event, seenOf: sku) }
        // What was there only as long as some connection is shown again.
        guard event.reason == .disconnected else { return [] }
        return event.key.sku(under: "indicator.").map { [$0] } ?? Set(reviews.keys)
    }

    /// A new snapshot tells everything again. After a reconnection that may be less than before.
    private mutating func beginSnapshotIfNeeded(_ event: Event) {
        guard isSynced, !event.isMissed else { return }
        isSynced = false
        shown = [:]
    }

    /// What was shown was there as long as the last connection.
    private mutating func beginCatchingUpIfNeeded() {
        guard !isCatchingUp else { return }
        isCatchingUp = true
        shown = shown.filter { $0.key.hasPrefix("seen.") }
    }

    /// Ends a snapshot, or what was missed. A product without `seen.<sku>` is new to this plugin.
    private mutating func settle() -> Set<String> {
        (isSynced, isCatchingUp) = (true, false)
        for (sku, reviews) in reviews where seen[sku] == nil { seen[sku] = reviews.count }
        let orphans = shown.keys.compactMap { $0.sku(under: "indicator.") ?? $0.sku(under: "seen.") }
        return Set(reviews.keys).union(orphans)
    }

    private mutating func note(_ event: Event, reviewsOf sku: String) -> Set<String> {
        reviews[sku] = event.value.flatMap { Reviews($0) }
        if reviews[sku] == nil {
            (seen[sku], told[sku]) = (nil, nil)
        } else if isSynced, seen[sku] == nil {
            seen[sku] = reviews[sku]?.count
        }
        return [sku]
    }

    /// An earlier run of this plugin has noted it, or another program wants it so.
    private mutating func note(_ event: Event, seenOf sku: String) -> Set<String> {
        // Without the key, it begins anew.
        let count = event.kind == .update ? event.value?.integer : reviews[sku]?.count
        guard let count, count >= 0, count != seen[sku], !isSynced || reviews[sku] != nil else { return [] }
        seen[sku] = count
        return [sku]
    }

    /// Goes to another screen. What the old screen told is now seen, except of the product whose detail
    /// screen comes next. Returns the products that may change.
    private mutating func turn(to next: Screen) -> Set<String> {
        guard next != screen else { return [] }
        for (sku, reviews) in reviews where screen.shows(sku) && next != .detail(sku: sku) {
            seen[sku] = told[sku] ?? min(seen[sku] ?? reviews.count, reviews.count)
        }
        screen = next
        return Set(reviews.keys)
    }

    /// The changes that make the bus show what these products need. What is seen comes first: if not all fits
    /// in one batch, news may come twice, but never get lost.
    private mutating func changes(of skus: Set<String>) -> [Change] {
        var wanted: [String: JSON?] = [:]
        for sku in skus {
            wanted["indicator.\(sku)"] = .some(indicatorValue(sku))
            wanted["seen.\(sku)"] = .some(reviews[sku] == nil ? nil : seen[sku].map { .integer($0) })
            told[sku] = screen.shows(sku) && newCount(sku) > 0 ? reviews[sku]?.count : nil
        }
        wanted["banner"] = .some(bannerValue())
        let changes = wanted.filter { $0.value != shown[$0.key] }
            .sorted {
                ($0.key.hasPrefix("seen.") ? 0 : 1, $0.key) < ($1.key.hasPrefix("seen.") ? 0 : 1, $1.key)
            }
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
}

extension String {
    /// The one token that follows `prefix`; nil for any other key.
    fileprivate func sku(under prefix: String) -> String? {
        guard hasPrefix(prefix) else { return nil }
        let sku = String(dropFirst(prefix.count))
        return sku.isKeyToken ? sku : nil
    }
}
