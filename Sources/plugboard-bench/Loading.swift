// One row under load: every system set up side by side, their batches made equal, then
// run after run each in turn. Where that would take more connections than this process
// may have, one system is done with before the next begins.

import PlugboardPosix

/// Measures workloads that publish.
struct Loading {
    /// Descriptors for everything but connections.
    private static let descriptorsSpare = 256
    let options: BenchOptions
    let programs: Programs
    let signals: Signals?
    /// As many as this process may open.
    let descriptors: Int

    /// What each of these systems came to, in their order, those that are installed. Throws
    /// only where a signal ended the bench; what fails is told in the row.
    func measure(_ workload: Workload, _ dialects: [any Dialect]) throws -> Row {
        let connections = workload.publishers + workload.observers + workload.connectionsAtRest
        let together = connections * dialects.count + Self.descriptorsSpare <= descriptors
        var wanted: Double?
        var row = Row(workload: workload)
        for group in together ? [dialects] : dialects.map({ [$0] }) {
            try measureTogether(group, messagesPerRead: &wanted, into: &row)
        }
        return row
    }

    private func measureTogether(
        _ dialects: [any Dialect],
        messagesPerRead wanted: inout Double?,
        into row: inout Row
    ) throws {
        let workload = row.workload
        var entries: [Entry] = []
        for dialect in dialects {
            let session = try row.attempt(dialect) { try setUp(workload, dialect, &wanted) }
            if let session = session ?? nil { entries.append(Entry(session: session)) }
        }
        for _ in 0..<options.runs {
            for index in entries.indices where !entries[index].hasFailed {
                let session = entries[index].session
                let run = try row.attempt(session.dialect) {
                    try session.run(nanoseconds: UInt64(options.secondsPerRun * 1e9))
                }
                entries[index].note(run)
            }
        }
        for index in entries.indices where !entries[index].hasFailed {
            let session = entries[index].session
            entries[index].note(try row.attempt(session.dialect) { try session.finish() })
        }
        try countAllocations(&entries, &row)
        row.systems += entries.filter { !$0.hasFailed }.map {
            SystemRow($0.session.dialect, batch: $0.session.workload.batch, $0.samples)
        }
    }

    /// One system that is being measured.
    private struct Entry {
        let session: Session
        var samples = Samples()
        var hasFailed = false

        mutating func note(_ run: [Quantity: Double]?) {
            if let run { samples.append(run) } else { hasFailed = true }
        }
    }

    /// The broker sets the mean batch; the limit, to which its CPU is compared, takes on the same.
    private func setUp(_ workload: Workload, _ dialect: any Dialect, _ wanted: inout Double?) throws
        -> Session?
    {
        guard let session = try Session(workload, dialect, programs: programs, signals: signals) else {
            return nil
        }
        guard workload.measure == .rate else { return session }
        if dialect.name == "plugboard" { wanted = try session.messagesPerRead() }
        if dialect is LimitDialect, let wanted {
            try BatchMatch.approach(messagesPerRead: wanted, session)
        }
        return session
    }

    private func countAllocations(_ entries: inout [Entry], _ row: inout Row) throws {
        guard options.countsAllocations, row.workload.measure == .rate, row.workload.keeping == .nothing,
            let index = entries.firstIndex(where: { $0.session.dialect.name == "plugboard" })
        else { return }
        let workload = row.workload
        let count = try row.attempt(entries[index].session.dialect) {
            try Allocations(programs: programs, signals: signals).count(workload)
        }
        if let count = count ?? nil { entries[index].note([.allocationsPerMessage: count.perMessage]) }
    }
}
