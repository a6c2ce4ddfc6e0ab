// Checks that a warm broker allocates no memory for passing a message on, in every row that isn't exempt.
// `plugboard bench --allocations` runs this check. A row fails only if the broker allocates in every try.

import PlugboardWire

/// Counts the allocations of several rows, and judges them.
struct AllocationCheck {
    /// Rows that may allocate. In some, each message binds a value to its writer or to a time. In others,
    /// observers are told more at once than the broker keeps memory for, or keys become owed and are sent
    /// again. A client that traces may be owed much, because the generator doesn't wait for it.
    static let exempt: Set<String> = [
        "publish-while", "publish-ttl", "500-patterns-all-match", "1→10-every", "1→10-one-stopped",
        "1→10-traced",
    ]
    /// Bytes of memory for outboxes that a broker keeps between turns.
    private static let keptBytes = 33_554_432
    /// The rows that must be free of allocations.
    static let standard = rows(
        Workloads.inMemory.filter {
            $0.measure == .rate && $0.keeping == .nothing && !exempt.contains($0.name)
        }
    )

    /// The rows with windows that are small enough that everything that waits for observers fits in half of
    /// that memory.
    static func rows(_ workloads: [Workload]) -> [Workload] {
        workloads.map { workload in
            let batchBytes = workload.batch * workload.valueBytes * 2 * max(1, workload.deliveriesPerMessage)
            return workload.with { $0.window = min($0.window, max(1, keptBytes / 2 / batchBytes)) }
        }
    }

    /// The result of one row.
    struct Result: Sendable {
        let workload: Workload
        let count: Allocations.Count?

        /// Nil if allocations can't be counted.
        var isFree: Bool? { count.map { $0.byBroker == 0 } }

        /// One line for a person.
        var text: String {
            guard let count else { return "\(workload.name): not counted" }
            let messages = "in \(TextLayout.grouped(count.messages)) messages"
            return "\(workload.name): \(TextLayout.grouped(count.byBroker)) allocations \(messages)"
        }
    }

    let workloads: [Workload]
    /// How often a row may be tried. On a busy machine more may wait than ever before, so some memory
    /// grows once more. That happens once. Regular allocations happen in every try.
    var triesMax = 5
    let count: (Workload) throws -> Allocations.Count?

    /// Counts row by row and reports each result. Returns whether all rows are free of allocations.
    @discardableResult
    func run(tell: (Result) throws -> Void) throws -> Bool {
        var areFree = true
        for workload in workloads {
            // The first try without allocations, or else the last try.
            var result = Result(workload: workload, count: try count(workload))
            for _ in 1..<triesMax where result.isFree == false {
                result = Result(workload: workload, count: try count(workload))
            }
            try tell(result)
            if result.isFree == false { areFree = false }
        }
        return areFree
    }
}
