// Writes a bench as a page: the machine, the goals, each row with the peers, and each option with the
// same row without it. On the page, only the text between two marks is replaced.

import PlugboardPosix

enum Markdown {
    /// The mark before the figures. A page has those of a usual bench, those in memory, or both.
    private static func start(isInMemory: Bool) -> String {
        let option = isInMemory ? " --memory" : ""
        return "<!-- bench\(option): written by plugboard bench\(option) --into -->"
    }
    private static let end = "<!-- /bench -->"

    /// The page with `text` between its two marks; nil if a mark is missing.
    static func page(_ page: String, with text: String, isInMemory: Bool) -> String? {
        let start = start(isInMemory: isInMemory)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.firstIndex(of: start[...]),
            let last = lines[first...].firstIndex(of: end[...])
        else { return nil }
        return (lines[...first] + ["", text[...].dropLast(), ""] + lines[last...]).joined(separator: "\n")
    }

    /// The text of a report. `chart` is the path of the drawing, relative to the page.
    static func text(of report: Report, commit: String?, chart: String?) -> String {
        let origin =
            (commit.map { "Commit \($0); " } ?? "") + "\(report.machine.text). \(report.releases). "
            + "Runs for each figure, a median: \(report.runs), of \(Digits.text(report.secondsPerRun)) s, in "
            + "which the systems take turns.\n"
        let goals = Goals.measured(in: report).map { $0.goal.cells($0.value) }
        let parts = [
            origin, chart.map { "![All systems as bars](\($0))\n" },
            table(["to reach", "measured", "must", "aim", ""], goals), systems(of: report),
            options(of: report),
        ]
        return parts.compactMap { $0 }.joined(separator: "\n")
    }

    /// The commit of the current folder; nil if it isn't a checkout.
    static func commit(programs: Programs) -> String? {
        guard let git = Programs.find("git"),
            let output = try? programs.output(of: git, ["rev-parse", "--short", "HEAD"])
        else { return nil }
        let text = output.prefix { $0.isHexDigit }
        return text.count >= 7 && output.count == text.count + 1 ? String(text) : nil
    }

    /// A table with a line for each row and a column for each system: how many times better plugboard is.
    private static func systems(of report: Report) -> String? {
        let rows = report.rows.filter { $0.workload.isPlain && !$0.systems.isEmpty }
        var others: [String] = []
        for name in rows.flatMap(\.systems).map(\.system)
        where name != "plugboard" && !others.contains(name) {
            others.append(name)
        }
        let head = ["row", "plugboard", "CPU ns a message"] + others.map { "× \($0)" }
        let lines = rows.map { row in
            let quantity = row.workload.measure.headline
            let ours = { (quantity: Metric) in
                row.samples(of: "plugboard")?.figure(quantity).map { Digits.text($0.median) }
            }
            return [
                row.workload.name, ours(quantity).map { "\($0) \(quantity.unit)" } ?? "–",
                ours(.cpuNanosecondsPerMessage) ?? "–",
            ]
                + others.map { other in
                    guard let ratio = row.advantage(quantity, over: other) else { return "–" }
                    let isBold = ratio < 1 && other != "limit"
                    return isBold ? "**\(Digits.ratio(ratio))**" : Digits.ratio(ratio)
                }
        }
        return table(head, lines).map {
            "× says how many times better than the other plugboard is: faster, or smaller. Below 1, "
                + "**in bold**, the peer is.\n\n" + $0
        }
    }

    private static func options(of report: Report) -> String? {
        let without = PlugboardDialect.plainName
        let lines = report.rows.filter { !$0.workload.isPlain }.compactMap { row -> [String]? in
            guard let cost = row.samples(of: "plugboard")?.figure(.cpuNanosecondsPerMessage),
                let ratio = row.ratio(.cpuNanosecondsPerMessage, "plugboard", to: without)
            else { return nil }
            let headline = row.workload.measure.headline
            let other = row.ratio(headline, "plugboard", to: without).map(Digits.ratio) ?? "–"
            return [
                row.workload.name, Digits.text(cost.median), Digits.ratio(ratio),
                "\(other) (\(headline.unit))",
            ]
        }
        return table(["option", "CPU ns a message", "× without it", "rate or time, × without it"], lines).map
        {
            $0 + report.rows.flatMap(Table.stopped).map { "\nOf one-stopped: \($0).\n" }.joined()
        }
    }

    /// A table; nil if there are no lines.
    private static func table(_ head: [String], _ lines: [[String]]) -> String? {
        if lines.isEmpty { return nil }
        return ([head, head.map { _ in "---" }] + lines)
            .map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }
}

extension Workload.Measure {
    /// The quantity by which systems are compared.
    var headline: Metric {
        switch self {
        case .rate: .messagesPerSecond
        case .roundTrip: .roundTripP50Microseconds
        case .idle: .bytesPerConnection
        case .keys: .bytesPerKey
        case .startUp, .recovery: .startMilliseconds
        case .snapshot: .longestRoundTripMilliseconds
        }
    }
}
