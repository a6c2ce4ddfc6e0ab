// A server to measure: a process of its own, in a folder of its own. A session or a probe owns it. The
// server ends with its owner, even after an error or a signal.

import PlugboardPosix

/// A server that runs. Only one thread uses it.
final class MeasuredServer {
    private static let patienceSeconds = 10.0
    let endpoint: Endpoint
    private let folder: TemporaryFolder
    private var process: ChildProcess
    /// The process tells its end only once.
    private var knownEnd: ChildEnd?

    /// Starts a server for a row, in `folder` or in a new folder. It may not listen yet. With `directly`,
    /// it is started without the program that ends it with the bench. Throws `SystemError`.
    init(
        _ dialect: any Dialect,
        for workload: Workload,
        _ programs: Programs,
        folder: TemporaryFolder? = nil,
        directly: Bool = false
    ) throws {
        self.folder = try folder ?? TemporaryFolder(named: "pb", isOnDisk: workload.keeping != .nothing)
        let plan = try dialect.plan(folder: self.folder.path, for: workload)
        var start = programs.start(plan.program, plan.arguments, directly: directly)
        start.environment += plan.environment
        endpoint = plan.endpoint
        process = try ChildProcess(starting: start)
    }

    /// Tells the server to end, and waits for that. A server that doesn't end is killed.
    deinit {
        guard end == nil else { return }
        process.signalGroup(SIGTERM)
        _ = Patience.wait(seconds: Self.patienceSeconds) { end != nil }
    }

    var pid: Int32 { process.pid }

    /// Connects as soon as the server accepts connections. Throws `BenchError` after ten seconds.
    func connectWhenReady() throws -> LoadLink {
        var link: LoadLink?
        let isReady = try Patience.wait(seconds: Self.patienceSeconds, pause: 0.000_02) {
            link = try? endpoint.connect()
            if link == nil, let end { throw BenchError.unexpected("the server \(end)") }
            return link != nil
        }
        guard isReady, let link else { throw BenchError.stalled("the server's start") }
        return link
    }

    /// Opens a connection and greets for a row.
    func connect(_ workload: Workload, _ dialect: any Dialect, as role: LinkRole) throws -> LoadLink {
        let link = try endpoint.connect()
        try dialect.open(link, workload: workload, as: role)
        return link
    }

    /// Opens a connection that observes a key of its own, which nobody publishes.
    func connectResting(_ number: Int, _ workload: Workload, _ dialect: any Dialect) throws -> LoadLink {
        let link = try connect(workload, dialect, as: .resting)
        try dialect.subscribe(link, to: [Names.restingKey(number)], workload.plain)
        return link
    }

    /// The bytes of all files of the broker's journal.
    var journalBytes: Int {
        let state = folder.path + "/state"
        let names = (try? DataFolder(path: state).names()) ?? []
        return names.reduce(0) { $0 + FileStatus(path: "\(state)/\($1)").bytes }
    }

    func signal(_ number: Int32) {
        process.signalGroup(number)
    }

    /// How the process ended; nil while it runs.
    var end: ChildEnd? {
        if knownEnd == nil { knownEnd = process.end() }
        return knownEnd
    }
}

/// Waits for conditions.
enum Patience {
    /// Returns true when `isTrue` does, or false after `seconds`. Looks again after each `pause` seconds.
    static func wait(seconds: Double, pause: Double = 0.001, _ isTrue: () throws -> Bool) rethrows -> Bool {
        let limit = TimeLimit(seconds: seconds)
        while try !isTrue() {
            guard !limit.isOver else { return false }
            Pause.sleep(seconds: pause)
        }
        return true
    }
}
