// The order of a bench: row by row, and within a row run by run, each system in turn,
// so that what disturbs the machine for a while disturbs all of them alike.

import PlugboardPosix

/// What to measure.
public struct BenchOptions: Sendable {
    /// Installed peers as well.
    public var peers = false
    /// Runs of each row, each a value of which the median is taken.
    public var runs = 5
    /// How long a run publishes.
    public var secondsPerRun = 0.5
    public var workloads = Workloads.all

    public init() {}

    /// Sets the batch of every row that has batches, to see what a turn's cost is shared by.
    public mutating func setBatch(_ batch: Int) {
        workloads = workloads.map { workload in
            workload.measure == .rate ? workload.with { $0.batch = batch } : workload
        }
    }

    /// Keeps the rows whose names contain one of these. Throws `BenchError` for a name
    /// that is in none.
    public mutating func keepOnly(_ names: [String]) throws {
        let chosen = workloads
        for name in names where !chosen.contains(where: { $0.name.contains(name) }) {
            throw BenchError.unknownWorkload(name)
        }
        workloads = chosen.filter { workload in names.contains { workload.name.contains($0) } }
    }
}

/// A bench of this machine. Used by one thread.
public struct Bench {
    private let options: BenchOptions
    private let programs: Programs
    private let signals: Signals?
    private let dialects: [any Dialect]

    /// `signals` that come in end the bench, with its servers.
    public init(options: BenchOptions, programs: Programs, signals: Signals?) {
        self.options = options
        self.programs = programs
        self.signals = signals
        dialects = Self.dialects(options, programs)
    }

    /// Measures every row, telling each as soon as it is complete.
    public func run(eachRow: (Row) throws -> Void = { _ in }) throws -> Report {
        var rows: [Row] = []
        _ = OpenFiles.raiseLimit()
        for workload in options.workloads {
            let row = Row(workload: workload, systems: try measure(workload))
            try eachRow(row)
            rows.append(row)
        }
        return Report(rows: rows, options: options)
    }

    private func measure(_ workload: Workload) throws -> [SystemRow] {
        let supporting = dialects.filter { $0.supports(workload) }
        switch workload.measure {
        case .rate, .roundTrip: return try measureUnderLoad(workload, supporting)
        case .idle(let connections):
            return try measureResting(workload, supporting) {
                try Resting(programs: programs).idle(workload, connections: connections, $0)
            }
        case .startUp:
            return try measureResting(workload, supporting) { try Resting(programs: programs).startUp($0) }
        }
    }

    private func measureUnderLoad(_ workload: Workload, _ dialects: [any Dialect]) throws -> [SystemRow] {
        let sessions = try dialects.compactMap { dialect in
            try naming(workload, dialect) {
                try Session(workload, dialect, programs: programs, signals: signals)
            }
        }
        var samples = Array(repeating: Samples(), count: sessions.count)
        for _ in 0..<options.runs {
            for (index, session) in sessions.enumerated() {
                try naming(workload, session.dialect) {
                    samples[index].append(try session.run(nanoseconds: UInt64(options.secondsPerRun * 1e9)))
                }
            }
        }
        return zip(sessions, samples).map { SystemRow($0.dialect, $1) }
    }

    private func measureResting(
        _ workload: Workload,
        _ dialects: [any Dialect],
        _ body: (any Dialect) throws -> [Quantity: Double]?
    ) throws -> [SystemRow] {
        let alone = dialects.filter { !$0.isVariant }
        var samples = Array(repeating: Samples(), count: alone.count)
        for _ in 0..<options.runs {
            for (index, dialect) in alone.enumerated() {
                if signals?.next() != nil { throw BenchError.interrupted }
                if let run = try naming(workload, dialect, { try body(dialect) }) {
                    samples[index].append(run)
                }
            }
        }
        return zip(alone, samples).filter { !$1.values.isEmpty }.map { SystemRow($0, $1) }
    }

    /// Says where an error came from.
    private func naming<Result>(_ workload: Workload, _ dialect: any Dialect, _ body: () throws -> Result)
        throws -> Result
    {
        do {
            return try body()
        } catch BenchError.interrupted {
            throw BenchError.interrupted
        } catch let error as BenchError {
            throw BenchError.failed(workload: workload.name, system: dialect.name, error)
        }
    }

    private static func dialects(_ options: BenchOptions, _ programs: Programs) -> [any Dialect] {
        let own: [any Dialect] = [
            PlugboardDialect(program: programs.plugboard), LimitDialect(program: programs.plugboard),
        ]
        guard options.peers else { return own }
        return own + [
            RedisDialect(work: .keepAndTell), RedisDialect(work: .tell),
            NATSDialect(work: .keepAndTell), NATSDialect(work: .tell),
            MosquittoDialect(work: .keepAndTell), MosquittoDialect(work: .tell),
        ]
    }
}
