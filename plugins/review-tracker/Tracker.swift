// Between the feed and the bus.

import PlugboardClient

/// Publishes what a feed says, line by line.
struct Tracker {
    let bus: Bus
    let pace: Pace
    /// After the last line, one review more whenever so many seconds have passed; nil: none.
    var secondsBetweenFurther: Double?
    /// Where the lines come from, for messages.
    let source: String

    /// What surrounds the values in a request: two keys and some words.
    private static let envelopeBytesMax = 1_024

    /// The longest line that the broker takes.
    private var lineBytesMax: Int { bus.greeting?.limits["line"] ?? InputLines.lineBytesMax }

    /// Publishes all lines, and what is to follow; returns when there is no more.
    func publish(_ lines: InputLines) async throws {
        var feed = Feed()
        var tally = Tally()
        var further = FurtherReviews()
        var pace = pace
        for try await line in lines {
            do {
                guard let bytes = line.bytes else { throw FeedFault("it is too long") }
                guard let record = try feed.record(bytes) else { continue }
                try await pace.wait()
                try await publish(record)
                tally.count(record)
                further.note(record)
            } catch let fault as FeedFault {
                tally.skipped += 1
                Console.warn("\(source):\(line.number): \(fault); skipped")
            }
        }
        Console.say("\(source): \(tally)")
        if let secondsBetweenFurther { try await publish(&further, each: secondsBetweenFurther) }
    }

    private func publish(_ further: inout FurtherReviews, each seconds: Double) async throws {
        while let record = further.next() {
            try await Task.sleep(for: .seconds(seconds))
            do {
                try await publish(record)
            } catch let fault as FeedFault {
                Console.warn("\(record.sku): \(fault)")
            }
        }
    }

    /// A product and its reviews change together. What a broken connection took with it is
    /// sent again: publishing a value twice does no harm.
    private func publish(_ record: FeedRecord) async throws {
        var writes: [Write] = []
        if let product = record.product { writes.append(try .publish("catalog.\(record.sku)", product)) }
        if let reviews = record.reviews { writes.append(try .publish("reviews.\(record.sku)", reviews)) }
        // The answer to a longer line names no request: waiting for it would not end.
        let bytes = [record.product, record.reviews].reduce(0) { $0 + ($1?.bytes.count ?? 0) }
        guard bytes + Self.envelopeBytesMax <= lineBytesMax else { throw FeedFault("it is too long") }
        while true {
            do {
                try await bus.batch(writes)
                return
            } catch let error as BusError {
                switch error {
                case .disconnected, .timedOut: continue
                case .refused: throw FeedFault("the broker refused it: \(error)")
                default: throw error
                }
            }
        }
    }
}

/// What came of a source.
private struct Tally: CustomStringConvertible {
    var products = 0
    var reviews = 0
    var skipped = 0

    mutating func count(_ record: FeedRecord) {
        products += record.product == nil ? 0 : 1
        reviews += record.reviews == nil ? 0 : 1
    }

    var description: String {
        "published \(products) products and \(reviews) reviews, skipped \(skipped) lines"
    }
}
