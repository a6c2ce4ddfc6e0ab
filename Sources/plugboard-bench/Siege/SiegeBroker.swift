// The broker that a siege attacks, with the keys of a row, and the attacker of that row. Both are
// processes of the bench's own, and both are killed with their owner here, however busy they are.

import PlugboardPosix

/// A broker for one run of a row. Only one thread uses it.
final class SiegeBroker {
    /// The broker's own user and another one may do everything. Quotas are the defaults.
    private static let policy = """
        {"rules": [{"allow": {"everything": ["**", "$broker.**"]}},
                   {"user": \(Attacker.stranger), "allow": {"everything": ["**"]}}]}
        """
    let server: MeasuredServer
    let dialect: PlugboardDialect
    let path: String

    /// Starts a broker and publishes the row's keys.
    init(_ row: SiegeRow, _ scale: SiegeScale, _ programs: Programs, _ keeping: Workload.Keeping) throws {
        let folder = try TemporaryFolder(named: "pb", isOnDisk: keeping != .nothing)
        path = folder.path + "/bus.sock"
        var dialect = PlugboardDialect(programs: programs)
        if row.isStranger {
            dialect.policy = folder.path + "/policy.json"
            try OutputFile.write(Self.policy, to: folder.path + "/policy.json")
            try folder.admitOthers()
        }
        if row.syncMilliseconds > 0 { dialect.runner = Self.slowing(row.syncMilliseconds) }
        self.dialect = dialect
        let workload = Workload(name: row.name, keeping: keeping)
        server = try MeasuredServer(dialect, for: workload, programs, folder: folder)
        let link = try server.connectWhenReady()
        try link.receive(lines: 1)
        if row.keys > 0 {
            try Attacker(path: path, scale: scale).publish(link, row.keys, SiegeRows.keyStart)
        }
    }

    /// The program that makes syncs slow.
    static let tracer = "strace"

    /// Runs a program whose syncs take so much longer. Nothing else of it is traced.
    private static func slowing(_ milliseconds: Int) -> [String] {
        let syncs = "fdatasync,fsync"
        return [
            Programs.path(tracer), "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e",
            "trace=\(syncs)", "-e",
            "inject=\(syncs):delay_enter=\(milliseconds * 1_000)", "--",
        ]
    }

    /// A broker that is busy for minutes wouldn't hear anything else.
    deinit {
        server.signal(SIGKILL)
    }

    var memoryBytes: UInt64 {
        get throws { try ProcessUsage.residentBytes(of: server.pid) }
    }
}

/// The process of an attacker. Only one thread uses it.
struct AttackerProcess: ~Copyable {
    private var process: ChildProcess
    /// What it has said.
    private var said = ""

    init(_ row: SiegeRow, _ scale: SiegeScale, path: String, _ programs: Programs) throws {
        let words = ["attack", row.name, path, scale.rawValue, "\(getpid())"]
        process = try ChildProcess(
            starting: ChildStart(program: programs.bench, arguments: words, output: .piped)
        )
    }

    /// Whether it is set up. Throws `BenchError` if it has failed.
    mutating func isReady() throws -> Bool {
        if let fd = process.outputFD {
            said += String(decoding: PipeCalls.read(fd, upTo: 4096).bytes, as: UTF8.self)
        }
        if let end = process.end() { throw BenchError.unexpected("the attacker \(end): \(said)") }
        return said.hasPrefix(Attacker.readyLine)
    }

    /// Ends it and all its connections. It is gone a moment later.
    func kill() {
        process.signalGroup(SIGKILL)
    }

    mutating func isGone() -> Bool {
        process.end() != nil
    }
}
