// The measured rows, before anyone decides how they are shown.

/// What one system came to in one workload.
public struct SystemRow: Sendable {
    public let system: String
    /// What it does for a message.
    public let summary: String
    public let samples: Samples

    init(_ dialect: any Dialect, _ samples: Samples) {
        system = dialect.name
        summary = dialect.summary
        self.samples = samples
    }

    init(system: String, summary: String, samples: Samples) {
        self.system = system
        self.summary = summary
        self.samples = samples
    }

    /// The generator worked harder than the server: the rate is the generator's, the
    /// CPU per message still the server's.
    public var isLimitedByGenerator: Bool {
        guard let generator = samples.figure(.generatorNanosecondsPerMessage),
            let server = samples.figure(.cpuNanosecondsPerMessage)
        else { return false }
        return generator.median > server.median
    }
}

/// One workload, all systems.
public struct Row: Sendable {
    public let workload: Workload
    public let systems: [SystemRow]

    func samples(of system: String) -> Samples? {
        systems.first { $0.system == system }?.samples
    }
}

/// A whole bench.
public struct Report: Sendable {
    public let rows: [Row]
    let runs: Int
    let secondsPerRun: Double

    init(rows: [Row], options: BenchOptions) {
        self.rows = rows
        runs = options.runs
        secondsPerRun = options.secondsPerRun
    }
}
