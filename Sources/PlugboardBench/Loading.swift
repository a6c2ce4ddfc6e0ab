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

    /// What each of these systems came to, in their order, those that are installed.
    func measure(_ workload: Workload, _ dialects: [any Dialect]) throws -> [SystemRow] {
        let connections = workload.publishers + workload.observers + workload.connectionsAtRest
        let together = connections * dialects.count + Self.descriptorsSpare <= descriptors
        var wanted: Double?
        var rows: [SystemRow] = []
        for group in together ? [dialects] : dialects.map({ [$0] }) {
            rows += try measureTogether(workload, group, messagesPerRead: &wanted)
        }
        return rows
    }

    private func measureTogether(
        _ workload: Workload,
        _ dialects: [any Dialect],
        messagesPerRead wanted: inout Double?
    ) throws -> [SystemRow] {
        let sessions = try dialects.compactMap { dialect in
            try BenchError.naming(workload, dialect) {
                let session = try Session(workload, dialect, programs: programs, signals: signals)
                if let session { try equalise(session, &wanted) }
                return session
            }
        }
        var samples = Array(repeating: Samples(), count: sessions.count)
        for _ in 0..<options.runs {
            for (index, session) in sessions.enumerated() {
                try BenchError.naming(workload, session.dialect) {
                    samples[index].append(try session.run(nanoseconds: UInt64(options.secondsPerRun * 1e9)))
                }
            }
        }
        try countAllocations(workload, sessions, &samples)
        return zip(sessions, samples).map { SystemRow($0.dialect, batch: $0.workload.batch, $1) }
    }

    /// The broker sets the mean batch; the limit, to which its CPU is compared, takes on the same.
    private func equalise(_ session: Session, _ wanted: inout Double?) throws {
        guard session.workload.measure == .rate else { return }
        if session.dialect is PlugboardDialect { wanted = try session.messagesPerRead() }
        if session.dialect is LimitDialect, let wanted {
            try BatchMatch.approach(messagesPerRead: wanted, session)
        }
    }

    private func countAllocations(_ workload: Workload, _ sessions: [Session], _ samples: inout [Samples])
        throws
    {
        guard options.countsAllocations, workload.measure == .rate,
            let index = sessions.firstIndex(where: { $0.dialect is PlugboardDialect })
        else { return }
        let count = try BenchError.naming(workload, sessions[index].dialect) {
            try Allocations(programs: programs, signals: signals).count(workload)
        }
        if let count { samples[index].append([.allocationsPerMessage: count.perMessage]) }
    }
}
