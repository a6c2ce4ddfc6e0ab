// How long clients wait while a server puts together what it keeps: a publisher goes on writing
// all keys, a batch after each answer, until a snapshot of all of them has been made meanwhile.

import PlugboardPosix

/// A server with every key of a row, under load. Used by one thread.
final class SnapshotRun {
    /// So many times all keys are written, and a snapshot has to have been made.
    private static let roundsMax = 20
    private let folder: TemporaryFolder
    private let server: Server
    private let generator: LoadGenerator

    /// Has it keep all keys. Nil where the system isn't installed.
    init?(_ workload: Workload, _ dialect: any Dialect, _ programs: Programs, _ signals: Signals?) throws {
        folder = try TemporaryFolder(named: "pb", isOnDisk: true)
        let started = try Server(dialect, for: workload, programs: programs, folder: folder)
        guard let started else { return nil }
        server = started
        let link = try server.connectWhenReady()
        try dialect.open(link, workload: workload, as: .publisher(0))
        let publisher = Publisher(
            link: link,
            script: Script(workload, publisher: 0, dialect: dialect),
            batchMark: dialect.batchMark(workload)
        )
        generator = try LoadGenerator(
            workload: workload,
            publishers: [publisher],
            observers: [],
            signals: signals
        )
        _ = try writeAll()
    }

    /// The longest that a batch waited for its answer.
    func run() throws -> [Quantity: Double] {
        // One that stands for this segment, too, is begun from now on.
        let segment = try newest("segment-")
        var longest: UInt64 = 0
        for _ in 0..<Self.roundsMax {
            longest = max(longest, try writeAll())
            if try newest("snapshot-") >= segment {
                return [.longestRoundTripMilliseconds: Double(longest) / 1e6]
            }
        }
        throw BenchError.unexpected("no snapshot was made")
    }

    /// Writes every key once. Returns the longest wait, in nanoseconds.
    private func writeAll() throws -> UInt64 {
        try generator.run(nanoseconds: 0, batchesMin: generator.batchesOfScript).roundTrips.max() ?? 0
    }

    /// The highest number in the names of the broker's files that begin so; 0 without any.
    private func newest(_ start: String) throws -> Int {
        try DataFolder(path: folder.path + "/state").names()
            .filter { $0.hasPrefix(start) && $0.hasSuffix(".jsonl") }
            .compactMap { Int($0.dropFirst(start.count).dropLast(6)) }.max() ?? 0
    }
}
