// The order of a bench: row by row, and within a row run by run, each system in turn,
// so that what disturbs the machine for a while disturbs all of them alike.

import PlugboardPosix

/// A bench of this machine. Used by one thread.
struct Bench {
    private let options: BenchOptions
    private let programs: Programs
    private let signals: Signals?
    private let dialects: [any Dialect]

    /// What a bench tells while it goes on.
    enum Progress {
        case begun(Machine, [SystemVersion])
        case row(Row)
        case growth(GrowthRows)

        /// Its block of the table.
        var text: String {
            switch self {
            case .begun(let machine, let versions): Table.text(of: machine, versions)
            case .row(let row): Table.text(of: row)
            case .growth(let growth): Table.text(of: growth)
            }
        }
    }

    /// `signals` that come in end the bench, with its servers.
    init(options: BenchOptions, programs: Programs, signals: Signals?) {
        self.options = options
        self.programs = programs
        self.signals = signals
        dialects = Self.dialects(options, programs)
    }

    /// Measures every row, telling each as soon as it is complete.
    func run(tell: (Progress) throws -> Void = { _ in }) throws -> Report {
        let machine = Machine.current()
        let versions = try dialects.filter { !$0.isVariant && $0.server != "limit" }.map {
            try SystemVersion.of($0, programs: programs)
        }
        try tell(.begun(machine, versions))
        let descriptors = OpenFiles.raiseLimit()
        let rows = try options.workloads.map { workload in
            let row = try measure(workload, descriptors: descriptors)
            try tell(.row(row))
            return row
        }
        let growth = try options.growths.map { growth in
            let rows = GrowthRows(
                growth: growth,
                rows: try growth.sizes.map {
                    try measure(growth.workload($0), descriptors: descriptors, countsAllocations: false)
                }
            )
            try tell(.growth(rows))
            return rows
        }
        return Report(machine: machine, versions: versions, rows: rows, growth: growth, options: options)
    }

    private func measure(_ workload: Workload, descriptors: Int, countsAllocations: Bool = true) throws -> Row
    {
        var options = options
        options.countsAllocations = options.countsAllocations && countsAllocations
        let supporting = dialects.filter { $0.supports(workload) }
        switch workload.measure {
        case .rate, .roundTrip:
            let load = Loading(
                options: options,
                programs: programs,
                signals: signals,
                descriptors: descriptors
            )
            return try load.measure(workload, supporting)
        case .idle(let connections):
            return try measureResting(workload, supporting) {
                try Resting(programs: programs).idle(workload, connections: connections, $0)
            }
        case .startUp:
            return try measureResting(workload, supporting) {
                try Resting(programs: programs).startUp(workload, $0)
            }
        case .recovery:
            var kept: Recovery?
            return try measureResting(workload, supporting) { dialect in
                if kept == nil { kept = try Recovery(workload, dialect, programs, signals) }
                return try kept?.startUp()
            }
        case .snapshot:
            return try measureResting(workload, supporting) {
                try SnapshotRun(workload, $0, programs, signals)?.run()
            }
        }
    }

    private func measureResting(
        _ workload: Workload,
        _ dialects: [any Dialect],
        _ body: (any Dialect) throws -> [Quantity: Double]?
    ) throws -> Row {
        let alone = dialects.filter { !$0.isVariant }
        var row = Row(workload: workload)
        var samples = Array(repeating: Samples(), count: alone.count)
        for _ in 0..<options.runs {
            for (index, dialect) in alone.enumerated() {
                if signals?.next() != nil { throw BenchError.interrupted }
                if row.failures.contains(where: { $0.system == dialect.name }) { continue }
                let run = try row.attempt(dialect) { try body(dialect) }
                if let run = run ?? nil { samples[index].append(run) }
            }
        }
        let measured = zip(alone, samples).filter { dialect, samples in
            !samples.values.isEmpty && !row.failures.contains { $0.system == dialect.name }
        }
        row.systems = measured.map { SystemRow($0, batch: workload.batch, $1) }
        return row
    }

    private static func dialects(_ options: BenchOptions, _ programs: Programs) -> [any Dialect] {
        let own: [any Dialect] = [
            PlugboardDialect(programs: programs),
            PlugboardDialect(programs: programs, isPlain: true),
            LimitDialect(programs: programs),
        ]
        guard options.peers else { return own }
        return own + [
            RedisDialect(work: .keepAndTell), RedisDialect(work: .tell),
            NATSDialect(work: .keepAndTell), NATSDialect(work: .tell),
            MosquittoDialect(work: .keepAndTell), MosquittoDialect(work: .tell),
        ]
    }
}
