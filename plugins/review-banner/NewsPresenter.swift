// Connects the news with the bus. Changes that belong together are written as
// one batch, if they fit in one. If the broker refuses a batch, they are
// written one by one.

import PlugboardClient

/// Publishes and deletes indicators, the banner, and what was seen.
struct NewsPresenter {
    /// The broker takes 1,024 writes in a batch.
    private static let batchMax = 1_000

    let bus: Bus

    /// Makes changes that belong together, in one revision if they fit in a batch. Returns those that may not
    /// have been made.
    func show(_ changes: [ReviewNews.Change]) async -> [ReviewNews.Change] {
        var failed: [ReviewNews.Change] = []
        for start in stride(from: 0, to: changes.count, by: Self.batchMax) {
            let part = Array(changes[start..<min(start + Self.batchMax, changes.count)])
            if await !write(part) { failed += part }
        }
        for (key, value) in changes where !key.hasPrefix("seen.") {
            Console.say("\(key) \(value?.text ?? "gone")")
        }
        return failed
    }

    private func write(_ changes: [ReviewNews.Change]) async -> Bool {
        do {
            let writes = try changes.map(Self.write)
            do {
                try await bus.batch(writes)
            } catch let error as BusError where error.code != nil {
                // Another client has deleted one of them. The others must still be written.
                await writeSingly(writes)
            }
            return true
        } catch {
            Console.warn("\(changes.map(\.key).joined(separator: ", ")): \(error)")
            return false
        }
    }

    private func writeSingly(_ writes: [Write]) async {
        for write in writes {
            do {
                try await bus.write(write)
            } catch let error as BusError where error.code == .notFound {
                // The key is gone already.
            } catch {
                Console.warn("\(write.key): \(error)")
            }
        }
    }

    private static func write(_ change: ReviewNews.Change) throws -> Write {
        guard let value = change.value else { return .delete(change.key) }
        // Nobody would take back what is shown if this program were killed. What is seen stays.
        return try .publish(change.key, value, while: change.key.hasPrefix("seen.") ? nil : .connected)
    }
}
