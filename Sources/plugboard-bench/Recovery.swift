// What a server keeps, and how long it takes to be there again: filled once for a row, then
// started on it run by run.

import PlugboardPosix

/// The kept state of one row. Used by one thread.
final class Recovery {
    private let workload: Workload
    private let dialect: any Dialect
    private let programs: Programs
    private let folder: TemporaryFolder

    /// Has a server keep every key of the row, and ends it.
    init(_ workload: Workload, _ dialect: any Dialect, _ programs: Programs, _ signals: Signals?) throws {
        self.workload = workload
        self.dialect = dialect
        self.programs = programs
        folder = try TemporaryFolder(named: "pb", isOnDisk: true)
        guard let server = try start() else { return }
        let link = try server.connectWhenReady()
        try dialect.open(link, workload: workload, as: .publisher(0))
        let filling = workload.with { $0.measure = .rate }
        let publisher = Publisher(
            link: link,
            script: Script(filling, publisher: 0, dialect: dialect),
            batchMark: dialect.batchMark(filling)
        )
        let generator = try LoadGenerator(
            workload: filling,
            publishers: [publisher],
            observers: [],
            signals: signals
        )
        _ = try generator.run(nanoseconds: 0, batchesMin: generator.batchesOfScript)
    }

    /// Milliseconds from starting the process to its first reply.
    func startUp() throws -> [Quantity: Double]? {
        let start = MonotonicClock.nanoseconds()
        guard let server = try self.start() else { return nil }
        try dialect.firstReply(server.connectWhenReady())
        return [.startMilliseconds: Double(MonotonicClock.nanoseconds() - start) / 1e6]
    }

    private func start() throws -> Server? {
        try Server(dialect, for: workload, programs: programs, folder: folder, directly: true)
    }
}
