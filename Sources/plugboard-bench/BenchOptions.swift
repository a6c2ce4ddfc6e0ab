// What a bench shall measure, as a person chose it.

/// What to measure.
struct BenchOptions: Sendable {
    /// Installed peers as well.
    var peers = false
    /// Runs of each row, each a value of which the median is taken.
    var runs = 5
    /// How long a run publishes.
    var secondsPerRun = 0.25
    var workloads = Workloads.all
    /// Series to measure after the rows.
    var growths: [Growth] = []
    /// Whether the broker's allocations are counted.
    var countsAllocations = true

    init() {}

    /// Sets the batch of every row that has batches, to see what a turn's cost is shared by.
    mutating func setBatch(_ batch: Int) {
        workloads = workloads.map { workload in
            workload.measure == .rate ? workload.with { $0.batch = batch } : workload
        }
    }

    /// Keeps the rows and series with these names, and for what is no whole name those whose
    /// names contain it; `->` is `→` to those who have no such key. Throws `BenchError` for a
    /// name that is in none.
    mutating func keepOnly(_ names: [String]) throws {
        let wanted = names.map { ($0, Self.spelled($0)) }
        let present = workloads.map(\.name) + growths.map(\.name)
        for (name, spelled) in wanted where !present.contains(where: { $0.contains(spelled) }) {
            throw BenchError.unknownWorkload(name)
        }
        let isWanted = { (name: String) in
            wanted.contains { _, spelled in
                present.contains(spelled) ? name == spelled : name.contains(spelled)
            }
        }
        workloads = workloads.filter { isWanted($0.name) }
        growths = growths.filter { isWanted($0.name) }
    }

    private static func spelled(_ name: String) -> String {
        let parts = name.split(separator: "->", omittingEmptySubsequences: false)
        return parts.joined(separator: "→")
    }
}
