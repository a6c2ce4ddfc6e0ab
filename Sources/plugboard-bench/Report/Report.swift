// The measured rows as data. Tables, pages, drawings and JSON are made of them. Figures are not rounded
// here. A system that failed is kept with the reason.

/// The figures of one system in one row.
struct SystemRow: Sendable {
    let system: String
    /// What the system does for a message.
    let summary: String
    /// How many messages its publishers wrote at once.
    let batch: Int
    /// Whether it is a peer that does the same work as plugboard.
    var isEqualPeer = false
    /// Whether messages per read are also those per turn.
    let readsOncePerTurn: Bool
    fileprivate(set) var samples: Samples

    /// Whether the generator used more CPU than the server. Then the rate is the generator's. CPU per
    /// message is the server's all the same.
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
            isEqualPeer: dialect.isEqualPeer,
            readsOncePerTurn: dialect.readsOncePerTurn,
            samples: samples
        )
    }
}

/// Why a system has no figures in a row.
struct Failure: Error, Equatable, CustomStringConvertible {
    let workload: String
    let system: String
    let reason: String

    var description: String { "\(workload), \(system): \(reason)" }
}

/// A row with all its systems.
struct Row: Sendable {
    let workload: Workload
    var systems: [SystemRow] = []
    private(set) var failures: [Failure] = []
    /// How many bytes a second the disk itself takes, measured beside the systems; nil if the row doesn't ask for it.
    var diskBytesPerSecond: Figure?

    init(workload: Workload, systems: [SystemRow] = [], diskBytesPerSecond: Figure? = nil) {
        self.workload = workload
        self.systems = systems
        self.diskBytesPerSecond = diskBytesPerSecond
    }

    /// How many messages a second the disk would take, each with as many bytes as plugboard writes for one.
    var diskMessagesPerSecond: Double? {
        guard let bytes = samples(of: "plugboard")?.figure(.bytesToDiskPerMessage), bytes.median > 0 else {
            return nil
        }
        return diskBytesPerSecond.map { $0.median / bytes.median }
    }

    /// Runs `body` for a system. If it fails, notes the reason and returns nil, because the failure of
    /// one peer must not cost all other figures. Throws only if a signal ended the bench.
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

    /// Adds what was measured of the same workload at another time. A system that failed once is left out.
    mutating func add(_ other: Row) {
        failures += other.failures
        for system in other.systems {
            if let known = systems.firstIndex(where: { $0.system == system.system }) {
                systems[known].samples.add(system.samples)
            } else {
                systems.append(system)
            }
        }
        systems.removeAll { system in failures.contains { $0.system == system.system } }
    }

    func hasFailed(_ dialect: any Dialect) -> Bool { failures.contains { $0.system == dialect.name } }

    func samples(of system: String) -> Samples? { systems.first { $0.system == system }?.samples }

    /// A system's quantity divided by that of another: the median over pairs of runs.
    func ratio(_ quantity: Metric, _ system: String, to other: String) -> Double? {
        samples(of: other).flatMap { samples(of: system)?.ratio(quantity, to: $0) }
    }

    /// How many times better plugboard is than another system: faster or cheaper.
    func advantage(_ quantity: Metric, over other: String) -> Double? {
        quantity.isGain
            ? ratio(quantity, "plugboard", to: other) : ratio(quantity, other, to: "plugboard")
    }

    /// Whether a system read about as many messages per turn as the broker. Only then can their CPU per
    /// message be compared. Nil if it is unknown.
    func hasEqualBatch(_ system: SystemRow) -> Bool? {
        guard system.readsOncePerTurn,
            let ours = samples(of: "plugboard")?.figure(.messagesPerRead),
            let theirs = system.samples.figure(.messagesPerRead)
        else { return nil }
        return BatchMatch.areEqual(theirs.median, ours.median)
    }
}

struct Report: Sendable {
    let machine: Machine
    let versions: [SystemVersion]
    let rows: [Row]
    let growth: [GrowthRows]
    let runs: Int
    let secondsPerRun: Double

    /// The failures of this project's own servers: the broker and the limit.
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
