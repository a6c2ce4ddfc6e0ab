// Measures a server that starts anew for each run: the memory of idle connections, the time to its first
// reply (empty, or with all keys of a row), and how long clients wait while it makes a snapshot.

import PlugboardPosix

/// A row that measures one quantity of such a server. Only one thread uses it.
final class RestingProbe: Probe {
    /// Connections that are made before the first look at memory, so that code and tables are loaded.
    private static let warmingConnections = 100
    /// Keys that are written before the first look at memory.
    private static let warmingKeys = 1_000
    /// How often all keys are written at most. By then there must have been a snapshot.
    private static let roundsMax = 20
    let dialect: any Dialect
    private let workload: Workload
    private let bench: Bench
    /// The folder with kept data, in a row that needs it. It is filled once, and each run starts a server
    /// on it.
    private let kept: TemporaryFolder?

    var batch: Int { workload.batch }

    init(_ workload: Workload, _ dialect: any Dialect, _ bench: Bench) throws {
        self.workload = workload
        self.dialect = dialect
        self.bench = bench
        kept = workload.measure == .recovery ? try TemporaryFolder(named: "pb", isOnDisk: true) : nil
        if let kept {
            let server = try start(in: kept)
            try withExtendedLifetime(server) {
                let filling = workload.with { $0.measure = .rate }
                _ = try Self.writeAll(Self.generator(server, filling, dialect, bench))
            }
        }
    }

    func finish() -> [Metric: Double] { [:] }

    func run() throws -> [Metric: Double] {
        switch workload.measure {
        case .idle(let connections): [.bytesPerConnection: try idle(connections)]
        case .keys: [.bytesPerKey: try keys()]
        case .snapshot: [.longestRoundTripMilliseconds: try longestWait()]
        case .startUp, .recovery, .rate, .roundTrip: [.startMilliseconds: try startUp()]
        }
    }

    /// The bytes of the server's memory for each connection that observes a key of its own.
    private func idle(_ connections: Int) throws -> Double {
        let server = try start()
        var links = [try server.connectWhenReady()]
        try dialect.open(links[0], workload: workload, as: .resting)
        try dialect.prepare(links[0], workload: workload)
        var before: UInt64 = 0
        for number in 0..<(Self.warmingConnections + connections) {
            if number == Self.warmingConnections { before = try ProcessUsage.memoryBytes(of: server.pid) }
            links.append(try server.connectResting(number, workload, dialect))
        }
        let after = try ProcessUsage.memoryBytes(of: server.pid)
        return (Double(after) - Double(before)) / Double(connections)
    }

    /// The bytes of the server's memory for each key and its value.
    private func keys() throws -> Double {
        let server = try start()
        try dialect.prepare(try server.connectWhenReady(), workload: workload)
        let filling = workload.with { $0.measure = .rate }
        let warming = filling.with { $0.keys = Self.warmingKeys }
        _ = try Self.writeAll(Self.generator(server, warming, dialect, bench))
        let before = try ProcessUsage.memoryBytes(of: server.pid)
        _ = try Self.writeAll(Self.generator(server, filling, dialect, bench))
        let after = try ProcessUsage.memoryBytes(of: server.pid)
        return (Double(after) - Double(before)) / Double(workload.keys - Self.warmingKeys)
    }

    /// The milliseconds from the start of the process to its first reply.
    private func startUp() throws -> Double {
        let begun = MonotonicClock.nanoseconds()
        let server = try start(in: kept)
        try dialect.firstReply(server.connectWhenReady())
        return Double(MonotonicClock.nanoseconds() - begun) / 1e6
    }

    /// The longest wait of a batch for its answer, in milliseconds. One publisher writes all keys again
    /// and again, each batch after the answer to the last, until a snapshot of all keys was made
    /// meanwhile.
    private func longestWait() throws -> Double {
        let folder = try TemporaryFolder(named: "pb", isOnDisk: true)
        let server = try start(in: folder)
        defer { withExtendedLifetime(server) {} }
        let generator = try Self.generator(server, workload, dialect, bench)
        _ = try Self.writeAll(generator)
        // A snapshot that replaces this segment begins after this moment.
        let segment = try Self.newest("segment-", in: folder)
        var longest: UInt64 = 0
        for _ in 0..<Self.roundsMax {
            longest = max(longest, try Self.writeAll(generator).roundTrips.max() ?? 0)
            if try Self.newest("snapshot-", in: folder) >= segment { return Double(longest) / 1e6 }
        }
        throw BenchError.unexpected("no snapshot was made")
    }

    private func start(in folder: TemporaryFolder? = nil) throws -> MeasuredServer {
        // A start that is measured must not go through another program.
        let isDirect = workload.measure == .startUp || workload.measure == .recovery
        return try MeasuredServer(dialect, for: workload, bench.programs, folder: folder, directly: isDirect)
    }

    private static func writeAll(_ generator: LoadGenerator) throws -> RunCount {
        try generator.run(nanoseconds: 0, batchesMin: generator.batchesOfScript)
    }

    /// A generator with one publisher and no observer.
    private static func generator(
        _ server: MeasuredServer, _ workload: Workload, _ dialect: any Dialect, _ bench: Bench
    ) throws -> LoadGenerator {
        let link = try server.connectWhenReady()
        let publisher = try LoadPublisher(0, link, workload, dialect)
        return try LoadGenerator(workload, [publisher], [], bench.signals)
    }

    /// The highest number in the names of the broker's files that begin with `start`; 0 if there are
    /// none.
    private static func newest(_ start: String, in folder: TemporaryFolder) throws -> Int {
        try DataFolder(path: folder.path + "/state").names()
            .filter { $0.hasPrefix(start) && $0.hasSuffix(".jsonl") }
            .compactMap { Int($0.dropFirst(start.count).dropLast(6)) }.max() ?? 0
    }
}
