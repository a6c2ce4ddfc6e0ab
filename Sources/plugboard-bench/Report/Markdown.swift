// A bench as a page shows it: the figures to reach, each row with the peers beside it, and
// each option beside the row without. What it was measured on stands above.

import PlugboardPosix

/// Markdown of reports.
enum Markdown {
    private static let start = "<!-- bench: written by plugboard bench --into -->"
    private static let end = "<!-- /bench -->"

    /// The page with the report in place of what stands between its two marks; nil where it
    /// hasn't both.
    static func page(_ page: String, with text: String) -> String? {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.firstIndex(of: start[...]),
            let last = lines[first...].firstIndex(of: end[...])
        else { return nil }
        return (lines[...first] + ["", text[...].dropLast(), ""] + lines[last...]).joined(separator: "\n")
    }

    /// All of a report. `chart` is the path of its drawing, from the page.
    static func text(of report: Report, commit: String?, chart: String?) -> String {
        let parts = [
            origin(of: report, commit: commit), chart.map { "![All systems as bars](\($0))\n" },
            goals(of: report), systems(of: report), options(of: report),
        ]
        return parts.compactMap { $0 }.joined(separator: "\n")
    }

    /// The commit of the folder that this runs in, where that is a checkout.
    static func commit(programs: Programs) -> String? {
        guard let git = Programs.find("git"),
            let output = try? programs.output(of: git, ["rev-parse", "--short", "HEAD"])
        else { return nil }
        let text = output.prefix { $0.isHexDigit }
        return text.count >= 7 && output.count == text.count + 1 ? String(text) : nil
    }

    private static func origin(of report: Report, commit: String?) -> String {
        let versions = report.versions.compactMap { system in
            system.version.map { "\(system.server) \($0)" }
        }
        let time = Digits.text(report.secondsPerRun)
        return (commit.map { "Commit \($0); " } ?? "") + report.machine.text + ". "
            + versions.joined(separator: ", ")
            + ". Runs for each figure, a median: \(report.runs), of \(time) s, in which the systems take turns.\n"
    }

    private static func goals(of report: Report) -> String? {
        let lines = Goals.all.compactMap { goal in goal.measure(report).map { Table.line(goal, $0) } }
        return lines.isEmpty ? nil : table(["to reach", "measured", "must", "aim", ""], lines)
    }

    /// A line for each row, a column for each system: how many times better plugboard is.
    private static func systems(of report: Report) -> String? {
        let rows = report.rows.filter { $0.workload.isPlain && !$0.systems.isEmpty }
        guard !rows.isEmpty else { return nil }
        var others: [String] = []
        for name in rows.flatMap(\.systems).map(\.system)
        where name != "plugboard" && !others.contains(name) {
            others.append(name)
        }
        let head = ["row", "plugboard", "CPU ns a message"] + others.map { "× \($0)" }
        let lines = rows.map { row in
            let ours = row.samples(of: "plugboard")
            let quantity = row.workload.measure.headline
            return [
                row.workload.name,
                ours?.figure(quantity).map { "\(Digits.text($0.median)) \(quantity.unit)" } ?? "–",
                ours?.figure(.cpuNanosecondsPerMessage).map { Digits.text($0.median) } ?? "–",
            ] + others.map { advantage(over: $0, in: row) }
        }
        return "× says how many times better than the other plugboard is: faster, or smaller. Below 1, "
            + "**in bold**, the peer is.\n\n" + table(head, lines)
    }

    private static func advantage(over other: String, in row: Row) -> String {
        let quantity = row.workload.measure.headline
        guard let ours = row.samples(of: "plugboard"), let theirs = row.samples(of: other) else { return "–" }
        let ratio = quantity.isGain ? ours.ratio(quantity, to: theirs) : theirs.ratio(quantity, to: ours)
        guard let ratio else { return "–" }
        return ratio < 1 && other != "limit" ? "**\(Digits.ratio(ratio))**" : Digits.ratio(ratio)
    }

    private static func options(of report: Report) -> String? {
        let lines = report.rows.filter { !$0.workload.isPlain }.compactMap { row -> [String]? in
            guard let ours = row.samples(of: "plugboard"),
                let without = row.samples(of: PlugboardDialect.plainName),
                let cost = ours.figure(.cpuNanosecondsPerMessage),
                let ratio = ours.ratio(.cpuNanosecondsPerMessage, to: without)
            else { return nil }
            let headline = row.workload.measure.headline
            let other = ours.ratio(headline, to: without).map(Digits.ratio) ?? "–"
            return [
                row.workload.name, Digits.text(cost.median), Digits.ratio(ratio),
                "\(other) (\(headline.unit))",
            ]
        }
        guard !lines.isEmpty else { return nil }
        return table(["option", "CPU ns a message", "× without it", "rate or time, × without it"], lines)
            + report.rows.flatMap(Table.stopped).map { "\nOf one-stopped: \($0).\n" }.joined()
    }

    private static func table(_ head: [String], _ lines: [[String]]) -> String {
        ([head, head.map { _ in "---" }] + lines)
            .map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }
}

extension Workload.Measure {
    /// The quantity by which systems are told apart.
    var headline: Quantity {
        switch self {
        case .rate: .messagesPerSecond
        case .roundTrip: .roundTripP50Microseconds
        case .idle: .bytesPerConnection
        case .startUp, .recovery: .startMilliseconds
        case .snapshot: .longestRoundTripMilliseconds
        }
    }
}

extension Quantity {
    /// As it stands behind a number.
    fileprivate var unit: String {
        switch self {
        case .messagesPerSecond: "messages/s"
        case .roundTripP50Microseconds: "µs"
        case .bytesPerConnection: "bytes"
        case .startMilliseconds, .longestRoundTripMilliseconds: "ms"
        default: rawValue
        }
    }
}
