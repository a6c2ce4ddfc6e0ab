// What a bench measures, as the user chose it. The defaults are those of a
// full bench. The program sets them once from its arguments, and nothing
// changes them afterwards.

/// What to measure.
struct BenchOptions: Sendable {
    /// Also measure installed peers.
    var peers = false
    /// Runs of each row. A figure is the median of their values.
    var runs = 5
    /// How long each run publishes.
    var secondsPerRun = 0.25
    var workloads = Workloads.all
    /// Series to measure after the rows.
    var growths: [Growth] = []
    /// Whether to count the broker's allocations.
    var countsAllocations = true

    /// The time before the first run. It is shorter if runs are short.
    var warmUpNanoseconds: UInt64 { UInt64(min(0.1, secondsPerRun * 0.4) * 1e9) }
    /// The time after a change of the batch.
    var settlingNanoseconds: UInt64 { UInt64(min(0.06, secondsPerRun * 0.24) * 1e9) }
    /// At least so many messages of each row are counted for allocations. There are fewer if runs
    /// are short.
    var countedMessagesMin: Int { Int(min(20_000, secondsPerRun * 80_000)) }

    /// Sets the batch of every row that has batches, to see which costs a turn shares.
    mutating func setBatch(_ batch: Int) {
        for index in workloads.indices where workloads[index].measure == .rate {
            workloads[index].batch = batch
        }
    }

    /// Keeps the rows and series with these names. For a word that isn't a complete name, keeps
    /// those whose names contain it. `->` stands for `→`. Throws `BenchError` for a word that no
    /// name contains.
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
