// Decides the order of a bench: row by row, and in each row run by run, with all systems in turn. So a
// disturbance of the machine affects all systems alike.

import PlugboardPosix

/// A bench of this machine. Only one thread uses it.
struct Bench {
    /// Descriptors that are not for connections.
    private static let descriptorsSpare = 256
    var options: BenchOptions
    let programs: Programs
    /// If a signal comes, the bench and its servers end.
    let signals: Signals?
    var descriptors = OpenFiles.raiseLimit()

    /// What a bench reports while it runs.
    enum Progress {
        case begun(Machine, [SystemVersion])
        case row(Row)
        case growth(GrowthRows)

        /// The block of the table for it.
        var text: String {
            switch self {
            case .begun(let machine, let versions): Table.text(of: machine, versions)
            case .row(let row): Table.text(of: row)
            case .growth(let growth): Table.text(of: growth)
            }
        }
    }

    /// Measures every row, and reports each one when it is complete. Throws `BenchError.interrupted`.
    func run(tell: (Progress) throws -> Void = { _ in }) throws -> Report {
        let machine = Machine.current()
        let dialects = dialects
        let versions = try dialects.filter { !$0.isVariant && $0.server != "limit" }.map {
            try SystemVersion.of($0, programs: programs)
        }
        let installed = dialects.filter { $0.programName.map { Programs.find($0) != nil } ?? true }
        try tell(.begun(machine, versions))
        let rows = try options.workloads.map { workload in
            let row = try measure(workload, installed)
            try tell(.row(row))
            return row
        }
        let growth = try options.growths.map { growth in
            let rows = GrowthRows(growth: growth, rows: try measure(growth, installed))
            try tell(.growth(rows))
            return rows
        }
        return Report(
            machine: machine,
            versions: versions,
            rows: rows,
            growth: growth,
            runs: options.runs,
            secondsPerRun: options.secondsPerRun
        )
    }

    private var dialects: [any Dialect] {
        let own: [any Dialect] = [
            PlugboardDialect(programs: programs), PlugboardDialect(programs: programs, isPlain: true),
            LimitDialect(programs: programs),
        ]
        guard options.peers else { return own }
        return own + [
            RedisDialect(work: .keepAndTell), RedisDialect(work: .tell),
            NATSDialect(work: .keepAndTell), NATSDialect(work: .tell),
            MosquittoDialect(work: .keepAndTell), MosquittoDialect(work: .tell),
        ]
    }

    /// Measures a series: all sizes once, then all of them again. If all runs of one size came together, what
    /// disturbs the machine for some seconds would look like growth.
    private func measure(_ growth: Growth, _ dialects: [any Dialect]) throws -> [Row] {
        var bench = self
        bench.options.countsAllocations = false
        bench.options.runs = 1
        var rows = growth.sizes.map { Row(workload: growth.workload($0)) }
        for _ in 0..<options.runs {
            for index in rows.indices { rows[index].add(try bench.measure(rows[index].workload, dialects)) }
        }
        return rows
    }

    /// Measures one row. Systems for which the row means nothing are left out. All systems are set up
    /// side by side, and each run visits them in turn. In a sustained row, or if that would take more
    /// connections than this process may open, each system is finished before the next begins. Throws only if a signal ended
    /// the bench; other failures are noted in the row.
    func measure(_ workload: Workload, _ dialects: [any Dialect]) throws -> Row {
        let needsVariants = workload.isLoad || workload.needsValues
        let supporting = dialects.filter { $0.supports(workload) && (needsVariants || !$0.isVariant) }
        let connections = workload.publishers + workload.observers + workload.connectionsAtRest
        let areTogether =
            !workload.isSustained && connections * supporting.count + Self.descriptorsSpare <= descriptors
        var wanted: Double?
        var row = Row(workload: workload)
        for group in areTogether ? [supporting] : supporting.map({ [$0] }) {
            try measureTogether(group, messagesPerRead: &wanted, into: &row)
        }
        if workload.isLoad, workload.measure == .rate, workload.keeping == .journal {
            let speeds = try (0..<options.runs).map { _ in
                if signals?.next() != nil { throw BenchError.interrupted }
                return try DiskSpeed.bytesPerSecond(for: options.secondsPerRun)
            }
            row.diskBytesPerSecond = Figure(of: speeds)
        }
        return row
    }

    private func measureTogether(
        _ dialects: [any Dialect], messagesPerRead wanted: inout Double?, into row: inout Row
    ) throws {
        let workload = row.workload
        var probes: [(probe: any Probe, samples: Samples)] = []
        for dialect in dialects {
            let probe = try row.attempt(dialect) { try setUp(workload, dialect, &wanted) }
            if let probe { probes.append((probe, Samples())) }
        }
        let steps: [(any Probe) throws -> [Metric: Double]] =
            Array(repeating: { try $0.run() }, count: options.runs(of: workload)) + [{ try $0.finish() }]
        for step in steps {
            for index in probes.indices where !row.hasFailed(probes[index].probe.dialect) {
                if signals?.next() != nil { throw BenchError.interrupted }
                let probe = probes[index].probe
                if let values = try row.attempt(probe.dialect, { try step(probe) }) {
                    probes[index].samples.append(values)
                }
            }
        }
        row.systems += probes.filter { !row.hasFailed($0.probe.dialect) }.map {
            SystemRow($0.probe.dialect, batch: $0.probe.batch, $0.samples)
        }
    }

    /// Sets up a system. The broker decides the mean batch. The limit, with which its CPU is compared,
    /// gets the same.
    private func setUp(_ workload: Workload, _ dialect: any Dialect, _ wanted: inout Double?) throws
        -> any Probe
    {
        guard workload.isLoad else { return try RestingProbe(workload, dialect, self) }
        let session = try LoadSession(workload, dialect, self)
        guard workload.measure == .rate else { return session }
        if dialect.name == "plugboard" { wanted = try session.messagesPerRead() }
        if dialect is LimitDialect, workload.keeping != .durable, let wanted {
            try BatchMatch.approach(messagesPerRead: wanted, session)
        }
        return session
    }
}

/// A system that is set up for a row.
protocol Probe: AnyObject {
    var dialect: any Dialect { get }
    /// How many messages its publishers write at once.
    var batch: Int { get }
    /// Makes one run. Returns the values that it measured.
    func run() throws -> [Metric: Double]
    /// Returns values that are known only after all runs.
    func finish() throws -> [Metric: Double]
}
