// Whether a broker that is warm asks the system for memory to pass a message on: it must
// not, in any row that isn't named here. `plugboard bench --allocations` is this check.

import PlugboardWire

/// Counts the allocations of many rows, and judges them.
struct AllocationCheck {
    /// A value is bound to its writer or to a time anew with each message; more is told at once
    /// than is kept from turn to turn; what is owed comes and goes, and who traces may be owed much, as
    /// nobody waits for it.
    static let exempt: Set<String> = [
        "publish-while", "publish-ttl", "1000-patterns-all-match", "1→10-every", "1→10-one-stopped",
        "1→10-traced",
    ]
    /// What a broker keeps of the memory of outboxes from turn to turn.
    private static let keptBytes = 33_554_432
    /// The rows that must be free of them; with no more on its way than what can wait for its
    /// observers in half of that memory.
    static let standard = Workloads.all
        .filter { $0.measure == .rate && $0.keeping == .nothing && !exempt.contains($0.name) }
        .map { workload in
            let batchBytes = workload.batch * workload.valueBytes * 2 * max(1, workload.deliveriesPerMessage)
            return workload.with { $0.window = min($0.window, max(1, keptBytes / 2 / batchBytes)) }
        }

    /// What one row came to.
    struct Result: Sendable {
        let workload: Workload
        let count: Allocations.Count?

        /// Nil where it can't be counted.
        var isFree: Bool? { count.map { $0.byBroker == 0 } }

        /// One line for a person.
        var text: String {
            guard let count else { return "\(workload.name): not counted" }
            let messages = "in \(TextLayout.grouped(count.messages)) messages"
            return "\(workload.name): \(TextLayout.grouped(count.byBroker)) allocations \(messages)"
        }
    }

    let workloads: [Workload]
    /// A busy machine may hold more back than ever before, so that something grows once more. That
    /// is once; what happens again and again is in every try.
    var triesMax = 5
    let count: (Workload) throws -> Allocations.Count?

    /// Counts row by row, telling each. Returns whether no row has any.
    @discardableResult
    func run(tell: (Result) throws -> Void) throws -> Bool {
        var areFree = true
        for workload in workloads {
            // The first try without any, or the last one.
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
