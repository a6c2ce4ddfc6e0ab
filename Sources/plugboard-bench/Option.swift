// The options of `plugboard bench`, and the help text that is made of
// them. Whatever is accepted is in the help, and whatever isn't is a
// usage error that names it.

import PlugboardWire

/// One option, without its dashes.
enum Option: String, CaseIterable {
    case json, peers, growth, allocations, chart, into, only, batch, runs, seconds, help

    /// The name of its value, empty if it takes none, and what it does.
    var words: (value: String, help: String) {
        switch self {
        case .json: ("", "print JSON lines, also on a terminal")
        case .peers: ("", "measure redis, nats and mosquitto as well, where they are installed")
        case .growth: ("", "also measure from 10 to 1,000,000 keys and from 1 to 10,000 connections")
        case .allocations:
            (
                "",
                "instead of times, count how often a warm broker allocates memory: never, or the status is 1"
            )
        case .chart: ("FILE", "draw the rows as bars, the growth as lines: an SVG file")
        case .into:
            (
                "FILE",
                "write the figures as Markdown between the marks <!-- bench … --> and <!-- /bench --> of FILE"
            )
        case .only: ("NAMES", "only these rows, by their names or parts of names, separated by commas")
        case .batch: ("N", "messages in each write of a publisher, for all rows")
        case .runs: ("N", "how often to measure each row; the median counts (5)")
        case .seconds: ("SECONDS", "how long each run takes (0.25)")
        case .help: ("", "show this text")
        }
    }

    /// `--runs N`.
    var usage: String { words.value.isEmpty ? "--\(rawValue)" : "--\(rawValue) \(words.value)" }

    /// Why this is not a valid value; nil if it is.
    func fault(of value: String) -> String? {
        switch self {
        case .runs: Self.fault(of: value, upTo: 1000)
        case .batch: Self.fault(of: value, upTo: 10_000)
        case .seconds:
            value.allSatisfy { $0.isASCII && $0.isNumber || $0 == "." } && (Double(value) ?? .infinity) < 1e6
                ? nil : "is a number of seconds, such as 2.5"
        default: value.isEmpty ? "is empty" : nil
        }
    }

    private static func fault(of value: String, upTo most: UInt) -> String? {
        UInt(value).map { $0 >= 1 && $0 <= most } == true ? nil : "is a whole number from 1 to \(most)"
    }
}

/// The options of one call.
struct Arguments {
    private var values: [Option: String] = [:]

    /// Reads `--name VALUE`, `--name=VALUE` and `--name`. Throws a `Refusal`.
    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let option = try Self.option(word == "-h" ? "--help" : String(parts[0]))
            let takesValue = !option.words.value.isEmpty
            if !takesValue, parts.count == 2 { throw Refusal(64, "--\(option) takes no value") }
            let value = takesValue ? parts.count == 2 ? String(parts[1]) : rest.popFirst() : ""
            guard let value else { throw Refusal(64, "--\(option) needs a value: \(option.usage)") }
            if takesValue, let fault = option.fault(of: value) {
                throw Refusal(64, "--\(option) \(fault); it was \"\(value)\"")
            }
            guard values.updateValue(value, forKey: option) == nil else {
                throw Refusal(64, "--\(option) stands twice")
            }
        }
    }

    func has(_ option: Option) -> Bool { values[option] != nil }

    subscript(option: Option) -> String? { values[option] }

    private static func option(_ spelling: String) throws -> Option {
        let all = Option.allCases
        if let option = all.first(where: { "--\($0)" == spelling }) { return option }
        guard spelling.hasPrefix("-") else {
            throw Refusal(64, "\"\(spelling)\" is one argument too many", "usage: plugboard bench [OPTIONS]")
        }
        let hint = Suggestion.hint(for: spelling, among: all.map { "--\($0)" })
        throw Refusal(64, "bench has no option \"\(spelling)\"", hint ?? "try: plugboard help bench")
    }
}

/// What `plugboard bench --help` prints.
enum BenchHelp {
    private static let columns = 80
    private static let details = [
        """
        Starts a broker, and a server that only copies bytes: the limit of this machine. Both get the same \
        load, in turns. With --peers the peers get it, too. Each runs on a socket or port of its own, and \
        writes to disk only in the rows about what is kept. A row shows messages per second, the CPU time \
        of the server's process for each message and delivery, how many messages it took in at once, and \
        two ratios: to the limit, and how many times faster and cheaper plugboard is.
        """,
        """
        Believe ratios, from runs with nothing else on the machine. * marks a rate that the load generator \
        limits: the server could do more. With --peers all rows take about eight minutes.
        """,
    ]
    static let examples = [
        "bench --peers --chart bench.svg", "bench --only '1→10,round' --runs 3",
        "bench --growth --only growth", "bench --allocations",
        "bench --peers --chart .github/bench.svg --into .github/FIGURES.md",
    ]

    static var text: String {
        let paragraphs = details.map { PageWidth.wrapped($0, columns, indent: "").joined(separator: "\n") }
        let widest = Option.allCases.map(\.usage.count).max() ?? 0
        let options = Option.allCases.map { option in
            let lines = PageWidth.wrapped(option.words.help, columns - widest - 4, indent: "")
            let indent = "\n" + String(repeating: " ", count: widest + 4)
            let padding = String(repeating: " ", count: widest - option.usage.count)
            return "  \(option.usage)\(padding)  " + lines.joined(separator: indent)
        }
        return
            (["bench: measure a broker that it starts itself", "", "Usage: plugboard bench [OPTIONS]", ""]
            + [paragraphs.joined(separator: "\n\n"), "", "Options"] + options + ["", "Examples"]
            + examples.map { "  plugboard \($0)" }).joined(separator: "\n") + "\n"
    }
}
