// The measured rows, as data: tables, pages, drawings and JSON are all
// made of them. Figures are not rounded here, and a failed system is
// kept with its reason.

/// The figures of one system in one workload.
struct SystemRow: Sendable {
    let system: String
    /// What the system does for a message.
    let summary: String
    /// Messages that its publishers wrote at once.
    let batch: Int
    /// Whether the mean batch of a read is that of a turn.
    let readsOncePerTurn: Bool
    let samples: Samples

    /// Whether the generator worked harder than the server. Then the rate is the generator's, but
    /// CPU per message is still the server's.
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

/// A system that has no figures in a row, and the reason.
struct Failure: Error, Equatable, CustomStringConvertible {
    let workload: String
    let system: String
    let reason: String

    var description: String { "\(workload), \(system): \(reason)" }
}

/// One workload with all systems.
struct Row: Sendable {
    let workload: Workload
    var systems: [SystemRow] = []
    private(set) var failures: [Failure] = []

    init(workload: Workload, systems: [SystemRow] = []) {
        self.workload = workload
        self.systems = systems
    }

    /// Does something with a system. If that fails, notes why and returns nil, because one peer's
    /// failure must not cost all other figures. Throws only if a signal ended the bench.
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

    /// A system's quantity as a multiple of another's: the median over pairs of runs.
    func ratio(_ quantity: Metric, _ system: String, to other: String) -> Double? {
        samples(of: other).flatMap { samples(of: system)?.ratio(quantity, to: $0) }
    }

    /// How many times better than the other system plugboard is: faster, or cheaper.
    func advantage(_ quantity: Metric, over other: String) -> Double? {
        quantity.isGain
            ? ratio(quantity, "plugboard", to: other) : ratio(quantity, other, to: "plugboard")
    }

    /// Whether a system read about as many messages per turn as the broker, so that CPU per
    /// message can be compared. Nil if that is unknown.
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

    /// The failures of this project's own servers.
    var ownFailures: [Failure] {
        (rows + growth.flatMap(\.rows)).flatMap(\.failures).filter {
            $0.system == "plugboard" || $0.system == "limit"
        }
    }

    /// The releases of the measured systems.
    var releases: String {
        versions.compactMap { system in system.version.map { "\(system.server) \($0)" } }
            .joined(separator: ", ")
    }

    func row(_ name: String) -> Row? { rows.first { $0.workload.name == name } }
}
