// The measured rows, before anyone decides how they are shown.

/// What one system came to in one workload.
struct SystemRow: Sendable {
    let system: String
    /// What it does for a message.
    let summary: String
    /// Messages that its publishers wrote at once.
    let batch: Int
    /// Its mean batch is that of a turn.
    let readsOncePerTurn: Bool
    let samples: Samples

    /// The generator worked harder than the server: the rate is the generator's, the
    /// CPU per message still the server's.
    var isHeldBackByGenerator: Bool {
        guard let generator = samples.figure(.generatorNanosecondsPerMessage),
            let server = samples.figure(.cpuNanosecondsPerMessage)
        else { return false }
        return generator.median > server.median
    }
}

extension SystemRow {
    init(_ dialect: any Dialect, batch: Int, _ samples: Samples) {
        self.init(
            system: dialect.name,
            summary: dialect.summary,
            batch: batch,
            readsOncePerTurn: dialect.readsOncePerTurn,
            samples: samples
        )
    }
}

/// A system that a row has no figures of, and why.
struct Failure: Error, Equatable, CustomStringConvertible {
    let workload: String
    let system: String
    let reason: String

    var description: String { "\(workload), \(system): \(reason)" }
}

/// One workload, all systems.
struct Row: Sendable {
    let workload: Workload
    var systems: [SystemRow] = []
    private(set) var failures: [Failure] = []

    init(workload: Workload, systems: [SystemRow] = []) {
        self.workload = workload
        self.systems = systems
    }

    /// Does something with a system, or notes why it failed and returns nil: one peer that
    /// fails shall not cost all other figures. Throws only where a signal ended the bench.
    mutating func attempt<Result>(_ dialect: any Dialect, _ body: () throws -> Result) throws -> Result? {
        do {
            return try body()
        } catch BenchError.interrupted {
            throw BenchError.interrupted
        } catch {
            failures.append(Failure(workload: workload.name, system: dialect.name, reason: "\(error)"))
            return nil
        }
    }

    func hasFailed(_ dialect: any Dialect) -> Bool { failures.contains { $0.system == dialect.name } }

    func samples(of system: String) -> Samples? { systems.first { $0.system == system }?.samples }

    /// A system's as a multiple of another's: the median over pairs of runs.
    func ratio(_ quantity: Metric, _ system: String, to other: String) -> Double? {
        samples(of: other).flatMap { samples(of: system)?.ratio(quantity, to: $0) }
    }

    /// How many times better than the other plugboard is: faster, or cheaper.
    func advantage(_ quantity: Metric, over other: String) -> Double? {
        quantity.isGain
            ? ratio(quantity, "plugboard", to: other) : ratio(quantity, other, to: "plugboard")
    }

    /// Whether a system took in about as many messages a turn as the broker, so that CPU
    /// per message can be compared as it stands. Nil where that can't be known.
    func hasEqualBatch(_ system: SystemRow) -> Bool? {
        guard system.readsOncePerTurn,
            let ours = samples(of: "plugboard")?.figure(.messagesPerRead),
            let theirs = system.samples.figure(.messagesPerRead)
        else { return nil }
        return BatchMatch.areEqual(theirs.median, ours.median)
    }
}

/// A whole bench.
struct Report: Sendable {
    let machine: Machine
    let versions: [SystemVersion]
    let rows: [Row]
    let growth: [GrowthRows]
    let runs: Int
    let secondsPerRun: Double

    /// What went wrong with this project's own servers.
    var ownFailures: [Failure] {
        (rows + growth.flatMap(\.rows)).flatMap(\.failures).filter {
            $0.system == "plugboard" || $0.system == "limit"
        }
    }

    /// The releases of what was measured.
    var releases: String {
        versions.compactMap { system in system.version.map { "\(system.server) \($0)" } }
            .joined(separator: ", ")
    }

    func row(_ name: String) -> Row? { rows.first { $0.workload.name == name } }
}
