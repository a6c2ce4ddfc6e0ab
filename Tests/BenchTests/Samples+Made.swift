// Invented figures for tests, as a bench could have measured them.

@testable import plugboard_bench

extension Samples {
    /// One run for each value. Every quantity has the same number of runs.
    static func made(_ values: [Metric: [Double]]) -> Samples {
        var samples = Samples()
        for run in 0..<(values.values.map(\.count).max() ?? 0) {
            samples.append(values.compactMapValues { $0.indices.contains(run) ? $0[run] : nil })
        }
        return samples
    }
}

extension SystemRow {
    static func made(
        _ system: String,
        _ values: [Metric: [Double]],
        isEqualPeer: Bool = false,
        readsOncePerTurn: Bool = true
    ) -> SystemRow {
        SystemRow(
            system: system,
            summary: "does what a test needs",
            batch: 64,
            isEqualPeer: isEqualPeer,
            readsOncePerTurn: readsOncePerTurn,
            samples: .made(values)
        )
    }
}

extension Report {
    static func made(_ rows: [Row], growth: [GrowthRows] = [], isDynamic: Bool = false) -> Report {
        let machine = Machine(
            processor: "A <fast> \"processor\" & more",
            processors: 2,
            kernel: "Linux 6",
            swift: "6.3.0",
            isDynamic: isDynamic,
            load: 0.25
        )
        let versions = [
            SystemVersion(server: "plugboard", version: "0.1.0"), SystemVersion(server: "nats", version: nil),
        ]
        return Report(
            machine: machine, versions: versions, rows: rows, growth: growth, runs: 5, secondsPerRun: 0.25
        )
    }
}
