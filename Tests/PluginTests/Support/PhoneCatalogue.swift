// The phones of ../shared/data, as the tests read them: with Foundation's JSON and whole
// cents, so that no plugin is compared with its own code.

import Foundation
import TestSupport

/// A phone of the file.
struct Phone {
    let sku: String
    let title: String
    let rating: Double
    let count: Int
    /// The lowest price in cents; nil if it is not for sale.
    let cents: Int?
}

enum PhoneCatalogue {
    static let path = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("shared/data/amazon_cellphones.ndjson").path

    /// The file isn't part of the project. It may be beside it.
    static let isPresent = FileManager.default.fileExists(atPath: path)

    /// All phones, in the file's order.
    static func phones() throws -> [Phone] {
        let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
        return try lines.dropFirst().filter { !$0.isEmpty }.map(phone)
    }

    /// Cents in the form of prices and totals: with two decimals.
    static func text(cents: Int) -> String {
        "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
    }

    /// Columns: asin, brand, title, url, image, rating, reviewUrl, totalReviews, prices.
    private static func phone(_ line: String) throws -> Phone {
        guard let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any], row.count == 9,
            let sku = row[0] as? String, let title = row[2] as? String,
            let rating = row[5] as? NSNumber, let count = row[7] as? NSNumber,
            let prices = row[8] as? String
        else { throw NeverHappened(description: "a phone in \(line)") }
        return Phone(
            sku: sku,
            title: title,
            rating: rating.doubleValue,
            count: count.intValue,
            cents: try lowestCents(prices)
        )
    }

    /// Every price in the file has a dollar sign and two decimals. So the digits after a dollar
    /// sign, without anything else, are its cents.
    private static func lowestCents(_ prices: String) throws -> Int? {
        let cents = try prices.components(separatedBy: "$").dropFirst().map { price in
            let printed = price.trimmingCharacters(in: CharacterSet(charactersIn: ",\""))
            let parts = printed.components(separatedBy: ".")
            guard parts.count == 2, parts[1].count == 2, let cents = Int(printed.filter(\.isNumber)) else {
                throw NeverHappened(description: "two decimals in \(prices)")
            }
            return cents
        }
        guard cents.isEmpty == prices.isEmpty else {
            throw NeverHappened(description: "a price in \(prices)")
        }
        return cents.min()
    }
}
