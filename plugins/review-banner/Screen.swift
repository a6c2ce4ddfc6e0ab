// What the user looks at, and what is known of a product's reviews: the shapes of
// `screen` and `reviews.<sku>`.

import PlugboardClient

/// The screen that is shown.
enum Screen: Equatable {
    case list
    case detail(sku: String)
    /// None, or one on which no product is seen.
    case other

    init(_ value: JSON?) {
        switch value?["name"]?.string {
        case "list": self = .list
        case "detail":
            guard let sku = value?["sku"]?.string else { fallthrough }
            self = .detail(sku: sku)
        default: self = .other
        }
    }

    /// Whether the product is to be seen on it.
    func shows(_ sku: String) -> Bool {
        switch self {
        case .list: true
        case .detail(let own): own == sku
        case .other: false
        }
    }
}

/// A product's reviews.
struct Reviews: Equatable {
    /// As it is written on the bus; empty where there is none.
    let rating: String
    let count: Int

    /// Nil where there is no count.
    init?(_ value: JSON) {
        guard let count = value["count"]?.integer, count >= 0 else { return nil }
        self.count = count
        rating = value["rating"].flatMap { ExactDecimal($0) }?.description ?? ""
    }
}
