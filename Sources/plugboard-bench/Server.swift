// A server under measurement: a process of its own in a folder of its own, ended
// with whoever holds it, also when that ends by an error or a signal.

import PlugboardPosix

/// The programs of this project, and how the bench starts processes.
struct Programs: Sendable {
    let plugboard: String
    /// This program.
    let bench: String
    private let tiesServers: Bool

    /// Those in a folder. With `tiesServers` what is started ends when this process does.
    init(folder: String, tiesServers: Bool = true) {
        plugboard = folder + "/plugboard"
        bench = folder + "/plugboard-bench"
        self.tiesServers = tiesServers
    }

    /// Those beside this one; nil where there is no `plugboard`.
    static func beside() -> Programs? {
        let programs = ProgramPath.current().map { Programs(folder: SocketPath.folder(of: $0)) }
        return programs.flatMap { FileStatus.isRunnable(path: $0.plugboard) ? $0 : nil }
    }

    func start(_ program: String, _ arguments: [String], directly: Bool = false) -> ChildStart {
        guard tiesServers, !directly else {
            return ChildStart(program: program, arguments: arguments, output: .piped)
        }
        return ChildStart(
            program: plugboard,
            arguments: ["launch", "--", "\(getpid())", program] + arguments,
            output: .piped
        )
    }

    /// What a program prints, from its start to its end.
    func output(of program: String, _ arguments: [String]) throws -> String {
        var process = try ChildProcess(starting: start(program, arguments))
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
        var start = programs.start(plan.program, plan.arguments, directly: directly)
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
