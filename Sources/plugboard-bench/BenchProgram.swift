// The program: it reads the arguments of `plugboard bench`, measures, and prints, draws and writes the
// results. The exit status is 1 if a server of this project failed, allocates in the check or doesn't
// withstand the siege, 64 for wrong arguments, and 69 if the program `plugboard` is missing.

import PlugboardBroker
import PlugboardPosix
import PlugboardWire

/// Why the program ends early: an exit status, and lines for a person.
struct BenchRefusal: Error {
    let status: Int32
    let lines: [String]

    init(_ status: Int32, _ lines: [String]) {
        self.status = status
        self.lines = lines
    }

    init(_ status: Int32, _ lines: String...) {
        self.init(status, lines)
    }
}

enum BenchProgram {
    private static let pageBytesMax = 4_194_304

    /// Runs a command line to its end and returns the exit status.
    static func run(_ words: [String]) -> Int32 {
        do {
            switch (words.first, words.count) {
            case ("limit", 2), ("limit", 3):
                var server = try LimitServer(path: words[1], folder: words.count > 2 ? words[2] : nil)
                try server.run()
            case ("traced", 2): try serveTraced(path: words[1])
            case ("attack", _): try Attacker.run(Array(words.dropFirst()))
            default: try bench(parse(words))
            }
            return 0
        } catch is ReaderGone {
            return 0
        } catch let refusal as BenchRefusal {
            return tell(refusal)
        } catch {
            return tell(BenchRefusal(1, "\(error)"))
        }
    }

    private static func tell(_ refusal: BenchRefusal) -> Int32 {
        let text = "plugboard bench: " + refusal.lines.joined(separator: "\n  ") + "\n"
        _ = StandardStream.error.write(bytes(text, isShown: true))
        return refusal.status
    }

    static func print(_ text: String) throws {
        let stream = StandardStream.output
        try stream.send(bytes(text, isShown: stream.isTerminal))
    }

    /// Escapes everything but text and line feeds for a terminal.
    private static func bytes(_ text: String, isShown: Bool) -> [UInt8] {
        guard isShown else { return Array(text.utf8) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return Array(lines.map { Printable.text(String($0)) }.joined(separator: "\n").utf8)
    }

    /// Runs the broker whose allocations are counted, from SIGUSR1 to SIGUSR2.
    private static func serveTraced(path: String) throws {
        let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])
        let broker = try Broker(configuration: Configuration(socketPath: path))
        try Background.start {
            while true {
                switch signals.wait() {
                case SIGUSR1: AllocationTrace.start()
                case SIGUSR2: AllocationTrace.flush()
                default: return broker.stop()
                }
            }
        }
        try broker.run()
    }

    private static func bench(_ invocation: Invocation) throws {
        if invocation.has(.help) { return try print(syntax.help) }
        if invocation.has(.siege) { return try besiege(invocation) }
        let options = try options(invocation)
        let programs = try ownPrograms()
        let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        let bench = Bench(options: options, programs: programs, signals: signals)
        guard invocation.has(.allocations) else { return try measure(bench, invocation) }
        // The runs have the usual length, because the length of the warm-up depends on it.
        let counting = Bench(options: BenchOptions(), programs: programs, signals: signals)
        let asked = invocation.has(.only) ? AllocationCheck.rows(options.workloads) : AllocationCheck.standard
        let check = AllocationCheck(workloads: asked, count: Allocations(bench: counting).count)
        guard try check.run(tell: { try print($0.text + "\n") }) else {
            throw BenchRefusal(1, "a warm broker asks for memory to pass messages on")
        }
    }

    /// The programs beside this one. Throws `BenchRefusal`.
    static func ownPrograms() throws -> Programs {
        guard let programs = Programs.beside() else {
            throw BenchRefusal(69, "the program plugboard, which it measures, isn't beside it")
        }
        return programs
    }

    private static func measure(_ bench: Bench, _ invocation: Invocation) throws {
        let (chart, page) = (invocation.text(.chart), invocation.text(.into))
        // If the page can't be written, this fails before minutes are spent on measuring.
        let isInMemory = invocation.has(.memory)
        if let page { _ = try contents(of: page, with: "", isInMemory: isInMemory) }
        if let chart { try checkWritable(chart) }
        let isJSON = invocation.has(.json)
        let report = try bench.run { if !isJSON { try print($0.text + "\n") } }
        try print(isJSON ? report.json() + "\n" : Table.end(of: report))
        if let chart { try OutputFile.write(Chart.svg(of: report), to: chart) }
        if let page {
            let link = chart.map { Self.link(to: $0, from: page) }
            let text = Markdown.text(
                of: report, commit: Markdown.commit(programs: bench.programs), chart: link
            )
            try OutputFile.write(try contents(of: page, with: text, isInMemory: isInMemory), to: page)
        }
        // A peer's failure is shown in its row, and is no failure of the bench.
        if let failure = report.ownFailures.first { throw BenchRefusal(1, "\(failure)") }
    }

    /// The path of a file relative to the page, if it is in the page's folder or below.
    private static func link(to file: String, from page: String) -> String {
        let folder = SocketPath.folder(of: page) + "/"
        return file.hasPrefix(folder) ? String(file.dropFirst(folder.count)) : file
    }

    /// The page with `text` between its marks.
    private static func contents(of path: String, with text: String, isInMemory: Bool) throws -> String {
        let bytes = try InputFile.contents(path: path, limit: pageBytesMax)
        let before = String(decoding: bytes, as: UTF8.self)
        guard let page = Markdown.page(before, with: text, isInMemory: isInMemory) else {
            throw BenchRefusal(64, "\(path) hasn't both marks between which the figures go")
        }
        return page
    }

    private static func checkWritable(_ path: String) throws {
        switch FileStatus(path: path).kind {
        case .missing: try OutputFile.write("", to: path)
        case .folder, .socket: throw BenchRefusal(64, "\(path) is no file to draw into")
        case .file, .other: return
        }
    }

    private static func options(_ invocation: Invocation) throws -> BenchOptions {
        var options = BenchOptions()
        if invocation.has(.memory) { options.workloads = Workloads.inMemory }
        options.peers = invocation.has(.peers)
        options.growths = invocation.has(.growth) ? Growths.all : []
        options.runs = invocation.integer(.runs).map { Int($0) } ?? options.runs
        options.secondsPerRun = invocation.seconds(.seconds) ?? options.secondsPerRun
        do {
            if let names = invocation.text(.only) {
                try options.keepOnly(names.split(separator: ",").map(String.init))
            }
        } catch BenchError.unknownWorkload(let name) {
            let names = options.workloads.map(\.name) + options.growths.map(\.name)
            let further = options.growths.isEmpty ? ["and with --growth: " + Growths.names] : []
            throw unknown(name, among: names, further)
        }
        if let batch = invocation.integer(.batch) { options.setBatch(Int(batch)) }
        return options
    }

    /// The refusal of a row that none of these is.
    static func unknown(_ name: String, among names: [String], _ further: [String] = []) -> BenchRefusal {
        var lines = ["no row's name contains \"\(name)\""]
        if let hint = Suggestion.hint(for: name, among: names) { lines.append(hint) }
        lines += ["the rows are:"] + TextLayout.wrapped(names.joined(separator: " "), width: 76) + further
        return BenchRefusal(64, lines)
    }
}
