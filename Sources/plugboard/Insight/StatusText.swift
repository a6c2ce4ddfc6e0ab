// The text of `status`: a few lines about a bus, and at their end what is wrong with it.

import PlugboardWire

/// Writes a report for a person.
struct StatusText {
    /// Problems beyond these are only counted.
    static let problemsMax = 10

    let report: BusReport
    let paint: Paint

    var lines: [String] {
        let rows = [
            ("socket", report.path), ("process", process), ("journal", journal), ("keys", keys),
            ("clients", clients), ("plugins", plugins),
        ]
        let title = paint.bold(
            "\(Program.name) \(version) (protocol \(report.greeting?["protocol"]?.text ?? "?"))"
        )
        return [title] + rows.map { Self.row($0.0, CommandConsole.shown($0.1)) } + wrong
    }

    /// What is wrong, a line each; empty if nothing is.
    var problems: [String] {
        var problems: [String] = []
        if version != ProtocolVersion.software {
            problems.append("this command is version \(ProtocolVersion.software): plugboard restart")
        }
        for client in report.clients where client["state"]?.string == "lagging" {
            let waits =
                "\(Amount.bytes(client["queued"]?.integer ?? 0)) and \(client["owed"]?.text ?? "?") keys wait"
            problems.append(
                "client \(client["client"]?.text ?? "?"), \(name(client)), reads too slowly: \(waits)"
            )
        }
        for plugin in report.plugins ?? [] {
            let state = plugin["state"]?.string ?? "?"
            let end = plugin["end"]?.string.map { ": \($0)" } ?? ""
            if ["broken", "waiting"].contains(state) {
                problems.append("plugin \(name(plugin)) is \(state)\(end)")
            }
            if let problem = plugin["problem"]?.string {
                problems.append("plugin \(name(plugin)): \(problem)")
            }
        }
        problems += report.health.compactMap(\.problem)
        problems += report.warnings.map { warning in
            let times = warning["times"]?.integer ?? 1
            return "\(warning["message"]?.string ?? "?")\(times > 1 ? ", \(times) times" : "")"
                + ", last at \(warning["when"]?.string ?? "?")"
        }
        return problems.map(Printable.text)
    }

    private var version: String { report.greeting?["version"]?.string ?? "?" }

    private var process: String {
        let memory = report.figure("memory").map { ", \(Amount.bytes($0)) of memory" } ?? ""
        let since = Amount.age(seconds: report.figure("uptime") ?? 0)
        return "\(report.stats["pid"]?.text ?? "?"), up for \(since)\(memory)"
    }

    private var journal: String {
        guard let pid = report.process, OpenJournal.isKnown(pid: pid) else {
            return "not known: the system doesn't tell what the broker's process has open"
        }
        guard let journal = OpenJournal(pid: pid) else {
            return "none: what is written lasts as long as the broker"
        }
        return "\(journal.folder), \(Amount.bytes(journal.bytes)) in \(journal.files) "
            + (journal.files == 1 ? "file" : "files")
    }

    private var keys: String {
        "\(Amount.count(report.figure("keys") ?? 0)), at revision \(report.stats["revision"]?.text ?? "?")"
    }

    private var clients: String {
        let paused = report.clients.count { $0["state"]?.string == "paused" }
        return "\(report.clients.count)" + (paused > 0 ? ", \(paused) of them paused" : "")
    }

    private var plugins: String {
        guard let plugins = report.plugins else { return "none: plugboard up didn't start this broker" }
        var counts: [(state: String, count: Int)] = []
        for state in plugins.map({ $0["state"]?.string ?? "?" }) {
            if let place = counts.firstIndex(where: { $0.state == state }) {
                counts[place].count += 1
            } else {
                counts.append((state, 1))
            }
        }
        let states = counts.map { "\($0.count) \($0.state)" }.joined(separator: ", ")
        return "\(plugins.count)\(states.isEmpty ? "" : ": \(states)")"
    }

    private var wrong: [String] {
        let problems = problems
        guard !problems.isEmpty else { return [Self.row("wrong", paint.green("nothing"))] }
        let shown = problems.prefix(Self.problemsMax).map(paint.yellow)
        let rest = problems.count - shown.count
        let lines = rest > 0 ? shown + ["and \(rest) more: plugboard top"] : shown
        return lines.enumerated().map { Self.row($0 == 0 ? "wrong" : "", $1) }
    }

    private func name(_ object: JSONObject) -> String { object["name"]?.string ?? "?" }

    private static func row(_ title: String, _ text: String) -> String {
        "  \(TextLayout.padded(title, 7))  \(text)"
    }
}
