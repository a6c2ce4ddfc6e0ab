// What comes after the last line, where that is asked for: one review more of a product, the products
// in turn. Counts go on from what the lines said, so that nothing jumps back.

import PlugboardClient

/// Reviews that nobody wrote, of products that had some.
struct FurtherReviews {
    /// Of so many products; further ones get none.
    static let productsMax = 64

    /// The newest reviews of a product.
    private struct Standing {
        let sku: String
        var rating: JSON
        var count: Int
    }

    private var products: [Standing] = []
    private var turn = 0

    /// Takes in what a line said.
    mutating func note(_ record: FeedRecord) {
        guard let rating = record.reviews?["rating"], let count = record.reviews?["count"]?.integer else {
            return
        }
        let standing = Standing(sku: record.sku, rating: rating, count: count)
        if let place = products.firstIndex(where: { $0.sku == record.sku }) {
            products[place] = standing
        } else if products.count < Self.productsMax {
            products.append(standing)
        }
    }

    /// The next one; nil where no product had any, or one has all that can be counted.
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
