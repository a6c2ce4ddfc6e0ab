// `bench`: the options of a measurement, and how what it finds is printed. What is
// measured, and how, is the module PlugboardBench.

import PlugboardBench
import PlugboardPosix

extension Option {
    static let peers = Option(
        flag: "peers",
        "measure redis, nats and mosquitto as well, where they are installed"
    )
    static let runCount = Option(
        "runs",
        "N",
        "how often each row is measured; the median counts (5)",
        .integer(1...1000)
    )
    static let runSeconds = Option("seconds", "SECONDS", "how long each run takes (0.5)", .seconds)
    static let batch = Option(
        "batch",
        "N",
        "messages in each write of a publisher, for all rows",
        .integer(1...10_000)
    )
    static let only = Option(
        "only",
        "NAMES",
        "only the rows whose names contain one of these, with commas between"
    )
}

extension Command {
    static let bench = Command(
        name: "bench",
        group: .about,
        summary: "measure a broker that it starts itself",
        options: [.json, .peers, .only, .batch, .runCount, .runSeconds],
        run: bench
    )

    /// The copying server that stands for the limit.
    static let benchLimit = Command(
        name: "bench-limit",
        group: .hidden,
        summary: "copy bytes from publishers to observers, for bench",
        parameters: [Parameter("SOCKET", "where to listen")],
        run: { invocation, _ in
            var server = try LimitServer(path: invocation.arguments[0])
            try server.run()
        }
    )

    private static func bench(_ invocation: Invocation, _ console: Console) throws {
        guard let program = ProgramPath.current() else {
            throw CommandError(.refused, "the system doesn't say where this program is")
        }
        let bench = Bench(
            options: try benchOptions(invocation),
            programs: Programs(plugboard: program) { path, arguments in
                launching(path, arguments, through: program, environment: Environment.all(), folder: nil)
            },
            signals: try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        )
        if invocation.has(.json) { return try console.output.text(bench.run().json() + "\n") }
        _ = try bench.run { row in try console.output.text(Table.text(of: row) + "\n") }
    }

    private static func benchOptions(_ invocation: Invocation) throws -> BenchOptions {
        var options = BenchOptions()
        options.peers = invocation.has(.peers)
        options.runs = invocation.integer(.runCount).map { Int($0) } ?? options.runs
        options.secondsPerRun = invocation.seconds(.runSeconds) ?? options.secondsPerRun
        if let names = invocation.text(.only) {
            do { try options.keepOnly(names.split(separator: ",").map(String.init)) } catch {
                throw CommandError.usage("\(error)")
            }
        }
        if let batch = invocation.integer(.batch) { options.setBatch(Int(batch)) }
        return options
    }
}
