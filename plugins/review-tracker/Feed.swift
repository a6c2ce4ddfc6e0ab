// Reads products and their reviews from the lines of the source. A line is an object, or an array after a
// header row. It knows nothing of the bus. A line is either understood completely or refused with a reason.

import PlugboardClient

/// Why a line can't be used, for the person who wrote it.
struct FeedFault: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Reads one line after the other, and remembers the header row.
struct Feed {
    private var columns: [String]?

    /// The content of the line; nil for a blank line and for the header row.
    mutating func record(_ line: [UInt8]) throws(FeedFault) -> FeedRecord? {
        guard !line.allSatisfy({ $0 <= 0x20 }) else { return nil }
        let json: JSON
        do {
            json = try JSON(bytes: line)
        } catch {
            throw FeedFault("it is not JSON: \(error)")
        }
        if let members = json.members { return try FeedRecord(members) }
        guard let values = json.elements else { throw FeedFault("it is neither an object nor an array") }
        guard let columns else {
            self.columns = try Self.header(values)
            return nil
        }
        guard values.count == columns.count else {
            throw FeedFault("it has \(values.count) values for \(columns.count) columns")
        }
        return try FeedRecord(Array(zip(columns, values)))
    }

    private static func header(_ values: [JSON]) throws(FeedFault) -> [String] {
        let names = values.compactMap(\.string)
        guard names.count == values.count, names.contains(where: { FeedRecord.name($0) == "sku" }) else {
            throw FeedFault("an array, and no header row with a column \"sku\" or \"asin\" before it")
        }
        return names
    }
}

/// One line about one product.
struct FeedRecord: Equatable {
    let sku: String
    /// The value of `catalog.<sku>`; nil if the line has only reviews.
    let product: JSON?
    /// The value of `reviews.<sku>`; nil if the line has no reviews.
    let reviews: JSON?

    /// This shop's name of a column or member that has another name elsewhere.
    static func name(_ name: String) -> String {
        switch name {
        case "asin": "sku"
        case "prices": "price"
        case "totalReviews": "count"
        default: name
        }
    }

    /// Takes the members of an object, or the columns of a row with their values.
    init(_ members: [(name: String, value: JSON)]) throws(FeedFault) {
        var known: [String: JSON] = [:]
        var others: [(name: String, value: JSON)] = []
        for (spelling, value) in members {
            let name = Self.name(spelling)
            switch name {
            case "sku", "title", "price", "rating", "count": known[name] = value.isNull ? nil : value
            default: others.append((spelling, value))
            }
        }
        guard let sku = known["sku"]?.string, sku.isKeyToken else {
            throw FeedFault("\"sku\" is not text that can stand in a key")
        }
        self.sku = sku
        product = try Self.product(known, others)
        reviews = try Self.reviews(known)
        if product == nil, reviews == nil { throw FeedFault("it says nothing of \(sku)") }
    }

    private static func product(
        _ known: [String: JSON], _ others: [(name: String, value: JSON)]
    ) throws(FeedFault) -> JSON? {
        guard known["title"] != nil || known["price"] != nil else { return nil }
        guard let title = known["title"], title.string != nil else {
            throw FeedFault("\"title\" is not text")
        }
        let price = try known["price"].map { price throws(FeedFault) in try Self.price(price) } ?? .null
        return .object([("title", title), ("price", price)] + others)
    }

    private static func price(_ value: JSON) throws(FeedFault) -> JSON {
        if let text = value.string { return try PriceText.lowest(text) }
        guard let number = ExactDecimal(value), number >= .zero else {
            throw FeedFault("\(value.text) is not a price")
        }
        return value
    }

    private static func reviews(_ known: [String: JSON]) throws(FeedFault) -> JSON? {
        guard known["rating"] != nil || known["count"] != nil else { return nil }
        guard let rating = known["rating"], ExactDecimal(rating) != nil,
            let count = known["count"]?.integer, count >= 0
        else { throw FeedFault("reviews have a \"rating\" and a \"count\", both numbers") }
        return .object(["rating": rating, "count": .integer(count)])
    }
}
