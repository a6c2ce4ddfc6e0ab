// Invents reviews after the last line, if the user asks for that: one more
// review of one product after the other. Counts continue those of the lines, so
// that none goes back.

import PlugboardClient

/// Invented reviews of products that had some.
struct FurtherReviews {
    /// The most products that get reviews; others get none.
    static let productsMax = 64

    /// The newest reviews of a product.
    private struct Standing {
        let sku: String
        var rating: JSON
        var count: Int
    }

    private var products: [Standing] = []
    private var turn = 0

    /// The products that get reviews.
    var skus: [String] { products.map(\.sku) }

    /// Notes the reviews of a line.
    mutating func note(_ record: FeedRecord) {
        if let reviews = record.reviews { note(record.sku, reviews) }
    }

    /// Notes the newest reviews of a product.
    mutating func note(_ sku: String, _ reviews: JSON) {
        guard let rating = reviews["rating"], let count = reviews["count"]?.integer, count >= 0 else {
            return
        }
        let standing = Standing(sku: sku, rating: rating, count: count)
        if let place = products.firstIndex(where: { $0.sku == sku }) {
            products[place] = standing
        } else if products.count < Self.productsMax {
            products.append(standing)
        }
    }

    /// The next review; nil if no product has any, or a count has reached its limit.
    mutating func next() -> FeedRecord? {
        guard !products.isEmpty else { return nil }
        let place = turn % products.count
        turn = place + 1
        guard products[place].count < Int.max else { return nil }
        products[place].count += 1
        let product = products[place]
        return try? FeedRecord([
            ("sku", .string(product.sku)), ("rating", product.rating), ("count", .integer(product.count)),
        ])
    }
}
