// `bench`: the options of a measurement, and how its results are printed. The module PlugboardBench
// does the measuring.

import PlugboardBench
import PlugboardBroker
import PlugboardPosix
import PlugboardWire

extension Option {
    static let peers = Option(
        flag: "peers",
        "measure redis, nats and mosquitto as well, where they are installed"
    )
    static let growth = Option(
        flag: "growth",
        "also measure from 10 to 1,000,000 keys and from 1 to 10,000 connections"
    )
    static let allocations = Option(
        flag: "allocations",
        "instead of times, count how often a warm broker allocates memory: never, or the status is 1"
    )
    static let chart = Option("chart", "FILE", "draw the rows as bars, the growth as lines: an SVG file")
    static let into = Option(
        "into",
        "FILE",
        "write the figures as Markdown between the marks <!-- bench … --> and <!-- /bench --> of FILE"
    )
    static let runCount = Option(
        "runs",
        "N",
        "how often to measure each row; the median counts (5)",
        .integer(1...1000)
    )
    static let runSeconds = Option("seconds", "SECONDS", "how long each run takes (0.25)", .seconds)
    static let batch = Option(
        "batch",
        "N",
        "messages in each write of a publisher, for all rows",
        .integer(1...10_000)
    )
    static let only = Option(
        "only",
        "NAMES",
        "only these rows, by their names or parts of names, separated by commas"
    )
}

extension Command {
    static let bench = Command(
        name: "bench",
        group: .about,
        summary: "measure a broker that it starts itself",
        options: [
            .json, .peers, .growth, .allocations, .chart, .into, .only, .batch, .runCount, .runSeconds,
        ],
        details: """
            Starts a broker, and a server that only copies bytes: the limit of this machine. Both get the \
            same load, in turns. With --peers the peers get it, too. Each runs on a socket or port of its \
            own, and writes to disk only in the rows about what is kept. A row shows messages per second, \
            the CPU time of the server's process for each message and delivery, how many messages it took \
            in at once, and two ratios: to the limit, and how many times faster and cheaper plugboard is.

            Believe ratios, from runs with nothing else on the machine. * marks a rate that the load \
            generator limits: the server could do more. With --peers all rows take about eight minutes.
            """,
        examples: [
            "bench --peers --chart bench.svg", "bench --only '1→10,round' --runs 3",
            "bench --growth --only growth", "bench --allocations",
            "bench --peers --chart .github/bench.svg --into .github/FIGURES.md",
        ],
        run: bench
    )

    /// The copying server that stands for the limit.
    static let benchLimit = Command(
        name: "bench-limit",
        group: .hidden,
        summary: "copy bytes from publishers to observers, for bench",
        options: [.socket],
        run: { invocation, _ in
            var server = try LimitServer(path: invocation.text(.socket) ?? SocketPath.standard())
            try server.run()
        }
    )

    /// The broker whose allocations are counted, from SIGUSR1 to SIGUSR2.
    static let benchTraced = Command(
        name: "bench-traced",
        group: .hidden,
        summary: "start a broker that traces its allocations, for bench",
        options: [.socket],
        run: { invocation, _ in
            let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])
            let path = invocation.text(.socket) ?? SocketPath.standard()
            let broker = try Broker(configuration: Configuration(socketPath: path))
            try Background.start { trace(broker, signals) }
            try broker.run()
        }
    )

    private static func trace(_ broker: Broker, _ signals: Signals) {
        while true {
            switch signals.wait() {
            case SIGUSR1: AllocationTrace.start()
            case SIGUSR2: AllocationTrace.stop()
            default: return broker.stop()
            }
        }
    }

    private static func bench(_ invocation: Invocation, _ console: Console) throws {
        guard let program = ProgramPath.current() else {
            throw CommandError(.refused, "the system doesn't say where this program is")
        }
        let options = try benchOptions(invocation)
        let programs = Programs(plugboard: program) { path, arguments in
            launching(path, arguments, through: program, environment: Environment.all(), folder: nil)
        }
        let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        if invocation.has(.allocations) {
            let wanted = invocation.text(.only) == nil ? AllocationCheck.standard : options.workloads
            return try check(
                AllocationCheck(workloads: wanted, programs: programs, signals: signals),
                console
            )
        }
        let bench = Bench(options: options, programs: programs, signals: signals)
        let report = try measure(bench, invocation, console)
        if let page = invocation.text(.into) {
            let commit = Markdown.commit(programs: programs)
            let text = Markdown.text(
                of: report,
                commit: commit,
                chart: invocation.text(.chart).map { Self.link(to: $0, from: page) }
            )
            try OutputFile.write(try contents(of: page, with: text), to: page)
        }
        // A failure of a peer doesn't end the bench; its row shows it.
        if let failure = report.ownFailures.first { throw CommandError(.refused, "\(failure)") }
    }

    /// A file beside the page is named without the folder.
    private static func link(to file: String, from page: String) -> String {
        let folder = SocketPath.folder(of: page) + "/"
        return file.hasPrefix(folder) ? String(file.dropFirst(folder.count)) : file
    }

    private static let pageBytesMax = 4_194_304

    /// A page with the figures in their place.
    private static func contents(of path: String, with text: String) throws -> String {
        let bytes = try InputFile.contents(path: path, limit: pageBytesMax)
        guard let page = Markdown.page(String(decoding: bytes, as: UTF8.self), with: text) else {
            throw CommandError.usage("\(path) hasn't both marks between which the figures go")
        }
        return page
    }

    private static func check(_ check: AllocationCheck, _ console: Console) throws {
        guard try check.run(tell: { try console.output.text($0.text + "\n") }) else {
            throw CommandError(.refused, "a warm broker asks for memory to pass messages on")
        }
    }

    private static func measure(_ bench: Bench, _ invocation: Invocation, _ console: Console) throws -> Report
    {
        // Before the minutes that measuring takes.
        if let page = invocation.text(.into) { _ = try contents(of: page, with: "") }
        let chart = invocation.text(.chart)
        if let chart { try checkWritable(chart) }
        let isJSON = invocation.has(.json)
        let report = try bench.run { if !isJSON { try print($0, console) } }
        try console.output.text(
            isJSON ? report.json() + "\n" : Table.goals(of: report) + "\n" + Table.method(of: report)
        )
        if let chart { try OutputFile.write(Chart.svg(of: report), to: chart) }
        return report
    }

    /// Finds a file that can't be written before the minutes of measuring.
    private static func checkWritable(_ path: String) throws {
        switch FileStatus(path: path).kind {
        case .missing: try OutputFile.write("", to: path)
        case .folder, .socket: throw CommandError.usage("\(path) is no file to draw into")
        case .file, .other: return
        }
    }

    private static func print(_ progress: Bench.Progress, _ console: Console) throws {
        switch progress {
        case .begun(let machine, let versions):
            try console.output.text(Table.text(of: machine, versions) + "\n")
        case .row(let row): try console.output.text(Table.text(of: row) + "\n")
        case .growth(let growth): try console.output.text(Table.text(of: growth) + "\n")
        }
    }

    private static func unknown(_ name: String, among options: BenchOptions) -> CommandError {
        let names = options.workloads.map(\.name) + options.growths.map(\.name)
        let near = Suggestion.nearest(to: name, among: names).map { ["did you mean \"\($0)\"?"] } ?? []
        let more = options.growths.isEmpty ? ["and with --growth: " + Growths.names] : []
        return CommandError(
            .usage,
            "no row's name contains \"\(name)\"",
            hints: near + ["the rows are:"] + HelpText.wrapped(names.joined(separator: " "), indent: 2) + more
        )
    }

    private static func benchOptions(_ invocation: Invocation) throws -> BenchOptions {
        var options = BenchOptions()
        options.peers = invocation.has(.peers)
        options.growths = invocation.has(.growth) ? Growths.all : []
        options.runs = invocation.integer(.runCount).map { Int($0) } ?? options.runs
        options.secondsPerRun = invocation.seconds(.runSeconds) ?? options.secondsPerRun
        if let names = invocation.text(.only) {
            do {
                try options.keepOnly(names.split(separator: ",").map(String.init))
            } catch BenchError.unknownWorkload(let name) {
                throw unknown(name, among: options)
            }
        }
        if let batch = invocation.integer(.batch) { options.setBatch(Int(batch)) }
        return options
    }
}
