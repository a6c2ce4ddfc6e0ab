// What stands around the rows in a terminal: the machine before them; what grew, the
// figures to reach and how it was measured after them.

extension Table {
    /// The machine, and the releases of what is measured on it.
    static func text(of machine: Machine, _ versions: [SystemVersion]) -> String {
        let systems = versions.map { "\($0.server) \($0.version ?? "is not installed")" }
        let lines = PageWidth.wrapped(machine.text) + PageWidth.wrapped(systems.joined(separator: ", "))
        return lines.map { $0 + "\n" }.joined()
    }

    /// One series: a line for each system, a column for each size.
    static func text(of growth: GrowthRows) -> String {
        let unit = growth.growth.quantity == .cpuNanosecondsPerDelivery ? "delivery" : "message"
        let head = [""] + growth.growth.sizes.map(Digits.whole) + ["× lowest"]
        let lines = growth.systems.map { system in
            [system] + growth.figures(of: system).map { $0.map { Digits.text($0.median) } ?? "–" }
                + [growth.factor(of: system).map(Digits.ratio) ?? "–"]
        }
        let title = "\(growth.growth.name): CPU ns/\(unit) as there are more \(growth.growth.what)"
        return PageWidth.wrapped(title).map { $0 + "\n" }.joined() + aligned([head] + lines)
    }

    private static let goalColumnsMax = 46

    /// Every figure to reach that was measured; nothing where none was.
    static func goals(of report: Report) -> String {
        let measured = Goals.all.compactMap { goal in goal.measure(report).map { line(goal, $0) } }
        guard !measured.isEmpty else { return "" }
        let lines = measured.flatMap { cells in
            let names = PageWidth.wrapped(cells[0], goalColumnsMax)
            return [[names[0]] + cells.dropFirst()] + names.dropFirst().map { [$0, "", "", "", ""] }
        }
        return "figures to reach\n" + aligned([["", "measured", "must", "aim", ""]] + lines)
    }

    static func line(_ goal: Goal, _ value: Double) -> [String] {
        let verdict = goal.verdict(value)
        let isAimed = verdict == .holds && goal.aim.isBound && goal.aim.holds(value)
        return [
            goal.what, goal.must.isClose ? Digits.fixed(value, 3) : Digits.text(value), goal.must.text,
            goal.aim.text,
            verdict.rawValue + (isAimed ? ", and the aim" : ""),
        ]
    }

    /// How the figures came about, as far as it bears on what they mean.
    static func method(of report: Report) -> String {
        let runs =
            "\(report.runs) run\(report.runs == 1 ? "" : "s") of \(Digits.text(report.secondsPerRun)) s"
        let text = """
            Each figure is the median of \(runs); ± is how far the farthest run was from it. The systems \
            take turns, and ratios are medians over pairs of runs. CPU is all that the server's process \
            used for a message, delivery that for each observer told; batch is how many messages it took \
            in at once, and our is how many times better plugboard is. Publishers are at most eight \
            batches ahead of answers and observers. They write the same batches to every system but the \
            limit: to that, as much at once as makes it take in about as many messages a turn as plugboard \
            did. Redis reads at most 16 KiB a turn: in the rows with batches of 16 it takes in as many \
            messages as the others.
            """
        let lines = PageWidth.wrapped(text, PageWidth.columnsMax - 2, indent: "")
        return "how it was measured\n" + lines.map { "  \($0)\n" }.joined()
    }
}
