// A server under measurement: a process of its own in a folder of its own, ended
// with whoever holds it, also when that ends by an error or a signal.

import PlugboardPosix

/// How the bench starts processes; the command knows its own program.
public struct Programs: Sendable {
    /// The `plugboard` program.
    let plugboard: String
    /// A start of a program that ends when this process does.
    let launching: @Sendable (_ program: String, _ arguments: [String]) -> ChildStart

    public init(
        plugboard: String,
        launching: @escaping @Sendable (_ program: String, _ arguments: [String]) -> ChildStart
    ) {
        self.plugboard = plugboard
        self.launching = launching
    }

    /// What a program prints, from its start to its end.
    func output(of program: String, _ arguments: [String]) throws -> String {
        var process = try ChildProcess(starting: launching(program, arguments))
        guard let fd = process.outputFD else { return "" }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        reading: while bytes.count < Self.outputBytesMax {
            switch chunk.withUnsafeMutableBytes({ PipeCalls.read(fd, into: $0) }) {
            case .bytes(let count): bytes += chunk[..<count]
            case .wouldBlock: PipeCalls.waitReadable(fd)
            case .ended, .failed: break reading
            }
        }
        _ = process.end()
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let outputBytesMax = 65_536

    /// Where a program of the system is; nil where it isn't installed.
    static func find(_ name: String) -> String? {
        let folders = (SocketPath.variable("PATH") ?? "").split(separator: ":").map(String.init)
        let candidates = (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }
        return candidates.first(where: FileStatus.isRunnable)
    }
}

/// A running server. Used by one thread.
final class Server {
    private static let patienceNanoseconds: UInt64 = 10_000_000_000
    private static let pauseSeconds = 0.000_02
    let endpoint: Endpoint
    private let folder: TemporaryFolder
    private var process: ChildProcess

    /// Starts a server for a row, in `folder` or one of its own; it may not listen yet. Throws
    /// `SystemError`. Nil where the dialect's program isn't installed.
    init?(
        _ dialect: any Dialect,
        for workload: Workload,
        programs: Programs,
        folder: TemporaryFolder? = nil,
        directly: Bool = false
    ) throws {
        self.folder = try folder ?? TemporaryFolder(named: "pb", isOnDisk: workload.keeping != .nothing)
        guard let plan = try dialect.plan(folder: self.folder.path, for: workload) else { return nil }
        for file in plan.files { try OutputFile.write(file.text, to: file.path) }
        var start =
            directly
            ? ChildStart(program: plan.program, arguments: plan.arguments, output: .piped)
            : programs.launching(plan.program, plan.arguments)
        start.environment += plan.environment
        endpoint = plan.endpoint
        process = try ChildProcess(starting: start)
    }

    deinit {
        stop()
    }

    var pid: Int32 { process.pid }

    /// A connection, as soon as the server takes one.
    func connectWhenReady() throws -> Link {
        let deadline = MonotonicClock.nanoseconds() + Self.patienceNanoseconds
        while true {
            if let link = try? endpoint.connect() { return link }
            if let end = process.end() { throw BenchError.unexpected("the server \(end)") }
            guard MonotonicClock.nanoseconds() < deadline else {
                throw BenchError.stalled("the server's start")
            }
            Pause.sleep(seconds: Self.pauseSeconds)
        }
    }

    /// A connection that observes a key of its own, which nobody publishes.
    func connectResting(_ number: Int, _ workload: Workload, _ dialect: any Dialect) throws -> Link {
        let link = try endpoint.connect()
        try dialect.open(link, workload: workload, as: .resting)
        try dialect.subscribe(link, key: Names.restingKey(number))
        return link
    }

    /// Sends it a signal.
    func signal(_ number: Int32) {
        process.signalGroup(number)
    }

    /// Asks it to end and waits for that; what doesn't end is killed.
    private func stop() {
        process.signalGroup(SIGTERM)
        let deadline = MonotonicClock.nanoseconds() + Self.patienceNanoseconds
        while process.end() == nil, MonotonicClock.nanoseconds() < deadline {
            Pause.sleep(seconds: 0.001)
        }
    }
}
