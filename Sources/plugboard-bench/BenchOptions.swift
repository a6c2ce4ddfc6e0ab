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

    /// Before the first run; in short runs less.
    var warmUpNanoseconds: UInt64 { UInt64(min(0.1, secondsPerRun * 0.4) * 1e9) }
    /// After a change of the batch.
    var settlingNanoseconds: UInt64 { UInt64(min(0.06, secondsPerRun * 0.24) * 1e9) }
    /// Messages of each row whose allocations are counted, at least: in short runs fewer.
    var countedMessagesMin: Int { Int(min(20_000, secondsPerRun * 80_000)) }

    /// Sets the batch of every row that has batches, to see what a turn's cost is shared by.
    mutating func setBatch(_ batch: Int) {
        for index in workloads.indices where workloads[index].measure == .rate {
            workloads[index].batch = batch
        }
    }

    /// Keeps the rows and series with these names, and for what is no whole name those whose
    /// names contain it; `->` is `→` to those who have no such key. Throws `BenchError` for a
    /// name that is in none.
    mutating func keepOnly(_ names: [String]) throws {
        let spell = { (name: String) in
            name.split(separator: "->", omittingEmptySubsequences: false).joined(separator: "→")
        }
        let present = workloads.map(\.name) + growths.map(\.name)
        for name in names where !present.contains(where: { $0.contains(spell(name)) }) {
            throw BenchError.unknownWorkload(name)
        }
        let isWanted = { (name: String) in
            names.map(spell).contains { present.contains($0) ? name == $0 : name.contains($0) }
        }
        workloads = workloads.filter { isWanted($0.name) }
        growths = growths.filter { isWanted($0.name) }
    }
}
