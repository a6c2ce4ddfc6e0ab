// Publishes the lines of a feed on the bus. A product and its reviews
// are one batch. A line that can't be used is reported and skipped; it
// never ends the plugin.

import PlugboardClient

/// Publishes the content of a feed, line by line.
struct Tracker {
    let bus: Bus
    let pace: Pace
    /// Seconds between the invented reviews after the last line; nil if there are none.
    var secondsBetweenFurther: Double?
    /// The source of the lines, for messages and for the progress.
    let source: String
    /// This program's name on the bus.
    let name: String

    /// Bytes of a request beside its values: three keys, the progress with a path, and some words.
    private static let envelopeBytesMax = 8_192

    /// The longest line that the broker takes.
    private var lineBytesMax: Int { bus.greeting?.limits["line"] ?? InputLines.lineBytesMax }

    /// Publishes all lines that an earlier tracker hasn't published, and the invented reviews after them.
    /// Returns when there are no more.
    func publish(_ lines: InputLines) async throws {
        var feed = Feed()
        var tally = Tally()
        var further = FurtherReviews()
        var pace = pace
        var progress = Progress(bus: bus, name: name, source: source)
        try await progress.find()
        if progress.line > 0 { Console.say("\(source): goes on after line \(progress.line)") }
        for try await line in lines {
            progress.read(line)
            do {
                guard let bytes = line.bytes else { throw FeedFault("it is too long") }
                guard let record = try feed.record(bytes) else { continue }
                further.note(record)
                guard line.number > progress.line else { continue }
                try await pace.wait()
                try await publish(record, progress.write(line))
                tally.count(record)
            } catch let fault as FeedFault {
                guard line.number > progress.line else { continue }
                tally.skipped += 1
                let message = "\(source):\(line.number): \(fault); skipped"
                Console.warn(message)
                bus.health(.degraded, message, counts: ["skipped": tally.skipped])
            }
        }
        Console.say("\(source): \(tally)")
        if let secondsBetweenFurther { try await publish(&further, each: secondsBetweenFurther) }
        try await progress.end()
    }

    private func publish(_ further: inout FurtherReviews, each seconds: Double) async throws {
        // Counts go on where an earlier tracker, or another program, has left them.
        for sku in further.skus {
            guard let reviews = try await bus.entry("reviews.\(sku)")?.value else { continue }
            further.note(sku, reviews)
        }
        while let record = further.next() {
            try await Task.sleep(for: .seconds(seconds))
            do {
                try await publish(record)
            } catch let fault as FeedFault {
                Console.warn("\(record.sku): \(fault)")
            }
        }
    }

    /// A product, its reviews and the progress change together. After a broken connection they are sent
    /// again: publishing a value twice does no harm.
    private func publish(_ record: FeedRecord, _ progress: Write? = nil) async throws {
        var writes = progress.map { [$0] } ?? []
        if let product = record.product { writes.append(try .publish("catalog.\(record.sku)", product)) }
        if let reviews = record.reviews { writes.append(try .publish("reviews.\(record.sku)", reviews)) }
        // The reply to a line that is too long doesn't name its request, so nobody could wait for
        // it.
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

/// The totals of a source.
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
