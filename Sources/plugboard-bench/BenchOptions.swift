// What a bench measures. The defaults are those of a full bench. The program sets the options once from
// its arguments.

/// What to measure.
struct BenchOptions: Sendable {
    /// How many times as long as another row's run a sustained row takes in all.
    private static let sustainedTimes = 240.0
    /// Its parts, which follow each other without a pause.
    static let sustainedRuns = 10
    /// Whether to measure peers that are installed.
    var peers = false
    /// The number of runs of each row. A figure is the median of their values.
    var runs = 5
    /// How long each run publishes, in seconds.
    var secondsPerRun = 0.25
    var workloads = Workloads.usual
    /// Series to measure after the rows.
    var growths: [Growth] = []
    /// Whether to count the broker's allocations.
    var countsAllocations = true

    /// How long a run of a row publishes, in seconds.
    func seconds(of workload: Workload) -> Double {
        secondsPerRun * (workload.isSustained ? Self.sustainedTimes / Double(Self.sustainedRuns) : 1)
    }

    /// How often a row is run.
    func runs(of workload: Workload) -> Int { workload.isSustained ? Self.sustainedRuns : runs }

    /// How long a server is warmed up before the first run. Less if runs are short.
    var warmUpNanoseconds: UInt64 { UInt64(min(0.1, secondsPerRun * 0.4) * 1e9) }
    /// How long a system is run after a change of its batch.
    var settlingNanoseconds: UInt64 { UInt64(min(0.06, secondsPerRun * 0.24) * 1e9) }
    /// At least how many messages of a row are counted for allocations. Fewer if runs are short.
    var countedMessagesMin: Int { Int(min(20_000, secondsPerRun * 80_000)) }

    /// Sets the batch of every row that has batches, to see which costs a turn shares.
    mutating func setBatch(_ batch: Int) {
        for index in workloads.indices where workloads[index].measure == .rate {
            workloads[index].batch = batch
        }
    }

    /// Keeps only the rows and series with these names. Throws `BenchError` as `selection` does.
    mutating func keepOnly(_ names: [String]) throws {
        let isWanted = try Self.selection(of: names, among: workloads.map(\.name) + growths.map(\.name))
        workloads = workloads.filter { isWanted($0.name) }
        growths = growths.filter { isWanted($0.name) }
    }

    /// Which of the names in `present` are wanted. A word that isn't a complete name stands for those
    /// that contain it, and `->` for `→`. Throws `BenchError` for a word that no name contains.
    static func selection(of names: [String], among present: [String]) throws -> (String) -> Bool {
        let spell = { (name: String) in
            name.split(separator: "->", omittingEmptySubsequences: false).joined(separator: "→")
        }
        for name in names where !present.contains(where: { $0.contains(spell(name)) }) {
            throw BenchError.unknownWorkload(name)
        }
        return { name in
            names.map(spell).contains { present.contains($0) ? name == $0 : name.contains($0) }
        }
    }
}
