// The text around the rows in a terminal: the machine before them, and after them the series, the goals
// and the method. `Table` has the rows.

import PlugboardWire

extension Table {
    private static let goalColumnsMax = 46

    /// The machine, and the releases of the systems.
    static func text(of machine: Machine, _ versions: [SystemVersion]) -> String {
        let systems = versions.map { "\($0.server) \($0.version ?? "is not installed")" }
        return PageWidth.text(machine.text) + PageWidth.text(systems.joined(separator: ", "))
    }

    /// A series: a line for each system, a column for each size.
    static func text(of growth: GrowthRows) -> String {
        let head = [""] + growth.growth.sizes.map(TextLayout.grouped) + ["× lowest"]
        let lines = growth.systems.map { system in
            [system] + growth.figures(of: system).map { $0.map { Digits.text($0.median) } ?? "–" }
                + [growth.factor(of: system).map(Digits.ratio) ?? "–"]
        }
        let what = "CPU ns/\(growth.growth.cost) as there are more \(growth.growth.what)"
        return PageWidth.text("\(growth.growth.name): \(what)") + aligned([head] + lines)
    }

    /// All that comes after the rows. The last line is the one to remember.
    static func end(of report: Report) -> String {
        let headline = Headline.text(of: report)
        return goals(of: report) + "\n" + method(of: report) + (headline.isEmpty ? "" : "\n" + headline)
    }

    /// The goals that were measured; empty if there are none.
    static func goals(of report: Report) -> String {
        let lines = Goals.measured(in: report).flatMap { goal, value in
            let cells = goal.cells(value)
            let names = TextLayout.wrapped(cells[0], hanging: 2, width: goalColumnsMax)
            return [[names[0]] + cells.dropFirst()] + names.dropFirst().map { [$0, "", "", "", ""] }
        }
        if lines.isEmpty { return "" }
        return "figures to reach\n" + aligned([["", "measured", "must", "aim", ""]] + lines)
    }

    /// How the figures were measured, as far as readers must know that.
    static func method(of report: Report) -> String {
        let text = """
            Each figure is the median of \(counted(report.runs, "run")) of \
            \(Digits.text(report.secondsPerRun)) s; ± is how far the farthest run was from it. The systems \
            take turns, and ratios are medians over pairs of runs. What grows is measured at all its \
            sizes once, then at all of them again. CPU is all that the server's process used for a \
            message, delivery that for each observer told; batch is how many messages it took in at once, \
            and our is how many times better plugboard is. Publishers are at most eight batches ahead of \
            answers and observers. They write the same batches to every system but the limit: to that, as \
            much at once as makes it take in about as many messages a turn as plugboard did. Redis reads \
            at most 16 KiB a turn: in the rows with batches of 16 it takes in as many messages as the \
            others.
            """
        return "how it was measured\n" + PageWidth.note(text, hanging: 0)
    }
}
