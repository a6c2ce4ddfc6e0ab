// The command line of `plugboard bench`: its options, its help and its parser. `BenchProgram` uses it.
// The bounds of a number are part of its option, so a wrong number ends the program before anything is
// measured.

import PlugboardWire

extension CommandOption {
    static let json = CommandOption(flag: "json", "print JSON lines, also on a terminal")
    static let peers = CommandOption(
        flag: "peers", "measure redis, nats and mosquitto as well, where they are installed"
    )
    static let growth = CommandOption(
        flag: "growth", "also measure from 10 to 1,000,000 keys and from 1 to 10,000 connections"
    )
    static let allocations = CommandOption(
        flag: "allocations",
        "instead of times, count how often a warm broker allocates memory: never, or the status is 1"
    )
    static let siege = CommandOption(
        flag: "siege",
        "instead of times, attack the broker in many ways, and measure how long two others wait"
    )
    static let small = CommandOption(flag: "small", "with --siege: small sizes, only to try it out")
    static let memory = CommandOption(
        flag: "memory",
        "brokers without a journal, and others that keep nothing on disk, not as they are started usually"
    )
    static let chart = CommandOption(
        "chart", "FILE", "draw the rows as bars, the growth as lines: an SVG file"
    )
    static let into = CommandOption(
        "into",
        "FILE",
        "write the figures as Markdown between the marks <!-- bench … --> and <!-- /bench --> of FILE"
    )
    static let only = CommandOption(
        "only", "NAMES", "only these rows, by their names or parts of names, separated by commas"
    )
    static let batch = CommandOption(
        "batch", "N", "messages in each write of a publisher, for all rows", .integer(1...10_000)
    )
    static let runs = CommandOption(
        "runs",
        "N",
        "how often to measure each row; the median counts (5), in a siege the worst (1)",
        .integer(1...1000)
    )
    static let seconds = CommandOption("seconds", "SECONDS", "how long each run takes (0.25)", .seconds)
}

extension BenchProgram {
    static let syntax = CommandSyntax(
        call: "plugboard bench",
        summary: "measure a broker that it starts itself",
        options: [
            .json, .peers, .growth, .allocations, .siege, .small, .memory, .chart, .into, .only, .batch,
            .runs,
            .seconds,
        ],
        details: """
            Starts a broker, and a server that only copies bytes: the limit of this machine. Both get the \
            same load, in turns. With --peers the peers get it, too. Each runs on a socket or port of its \
            own. All but the limit keep what is sent, as far as they can: the broker in its journal, Redis in \
            an append-only file that is synced each second, NATS and mosquitto in files. Beside the broker \
            there is one without a journal. With --memory nobody writes to disk but in the rows about that. A \
            row shows messages per second, the CPU time of the server's process for each message and \
            delivery, how many messages it took in at once, and two ratios: to the limit, and how many times \
            faster and cheaper plugboard is.

            Believe ratios, from runs with nothing else on the machine. * marks a rate that the load \
            generator limits: the server could do more. With --peers all rows take about half an hour. The \
            last line is the one to remember: the rate beside the fastest peer that does the same work, and \
            the CPU beside the limit's.

            With --siege, each row is one misbehaving client, and the status is 1 if a row fails: if one \
            that publishes or one that calls waits too long, or memory grows too much or isn't given back. \
            These brokers keep a journal, too, unless --memory is given.
            """,
        examples: [
            "bench --peers --chart bench.svg", "bench --memory --peers", "bench --only '1→10,round' --runs 3",
            "bench --growth --only growth", "bench --allocations",
            "bench --siege --only keys,paused --runs 3",
            "bench --peers --chart .github/bench.svg --into .github/FIGURES.md",
        ]
    )

    /// Parses the command line. Throws `BenchRefusal`.
    static func parse(_ words: [String]) throws -> Invocation {
        do throws(CommandMistake) {
            return try Invocation(syntax, parsing: words)
        } catch {
            let (message, hint) = syntax.words(for: error)
            throw BenchRefusal(64, [message] + (hint.map { [$0] } ?? []))
        }
    }
}
