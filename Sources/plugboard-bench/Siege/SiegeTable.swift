// Shows a siege at a terminal, and writes it for programs. In the table, each figure is the worst of all
// runs. The JSON has every run.

import PlugboardWire

enum SiegeTable {
    /// The block of a row. Each line ends with a line feed.
    static func text(of result: SiegeResult) -> String {
        let row = result.row
        let title = PageWidth.text("\(row.name): \(row.what); must: \(row.must)")
        let verdict = PageWidth.note(result.verdict)
        guard !result.runs.isEmpty else { return title + verdict }
        let head = ["who", "p50 ms", "p99 ms", "longest", "broker's CPU", "alone: p50", "p99", "longest"]
        let lines = Bystanders.names.indices.map { index in
            [Bystanders.names[index]] + cells(result.runs.map { $0.attacked[index] }, isAttacked: true)
                + cells(result.runs.map { $0.alone[index] }, isAttacked: false)
        }
        let weaker = result.isWeaker ? PageWidth.note("the attacker wasn't set up in time") : ""
        return title + Table.aligned([head] + lines) + PageWidth.note(memory(result)) + weaker + verdict
    }

    /// The last lines: what holds, and how it was measured.
    static func end(of results: [SiegeResult], _ scale: SiegeScale) -> String {
        let failed = results.filter { !$0.faults.isEmpty }.map(\.row.name)
        let skipped = results.count { $0.isSkipped }
        let held = results.count - failed.count - skipped
        let method = """
            Two bystanders rest for a millisecond after each reply. They are measured alone, and from the \
            attacker's first byte until its end was noticed; of several runs, the worst counts. The p99 \
            and a third of the longest wait must hold. > marks a wait that wasn't over when the broker \
            was killed, \(Digits.short(scale.rowSeconds)) s after the attacker's start. The broker's CPU \
            is the most that it used during one wait, in ms: no step that they waited for took more. It \
            is shown and not judged.
            """
        return PageWidth.text("\(held) of \(results.count) rows hold, \(skipped) skipped")
            + (failed.isEmpty ? "" : PageWidth.text("FAILED: " + failed.joined(separator: " ")))
            + PageWidth.note(method, hanging: 0)
    }

    private static func cells(_ waits: [Waits], isAttacked: Bool) -> [String] {
        let most = { (value: (Waits) -> Double) in Digits.text(waits.map(value).max() ?? 0) }
        let mark = waits.contains(where: \.isEndless) ? "> " : ""
        let cpu = most { Double($0.cpuNanosecondsMost) / 1e6 }
        return [most(\.p50), most(\.p99), mark + most(\.longest)] + (isAttacked ? [cpu] : [])
    }

    private static func memory(_ result: SiegeResult) -> String {
        let most = { (value: (SiegeRun) -> UInt64) in
            Digits.text(Double(result.runs.map(value).max() ?? 0) / 1_048_576) + " MB"
        }
        return "resident memory: \(most(\.memoryBefore)) before, \(most(\.memoryMost)) at most, "
            + "\(most(\.memoryAfter)) a second after the attack"
    }
}

extension SiegeTable {
    /// One JSON object on one line: `rows`, each with its `must`, its `faults` and its `runs`.
    static func json(of results: [SiegeResult]) -> String {
        let rows = results.map { result in
            ObjectWriter().adding("name", string: result.row.name).adding("what", string: result.row.what)
                .adding("must", string: result.row.must).adding("verdict", string: result.verdict)
                .adding("runs", json: ObjectWriter.array(result.runs.map { json($0).bytes })).bytes
        }
        let text = ObjectWriter().adding("rows", json: ObjectWriter.array(rows))
        return String(decoding: text.line, as: UTF8.self)
    }

    private static func json(_ run: SiegeRun) -> ObjectWriter {
        let texts = { (waits: [Waits]) in
            zip(Bystanders.names, waits).reduce(ObjectWriter()) { $0.adding($1.0, json: json($1.1).bytes) }
        }
        return ObjectWriter().adding("alone", json: texts(run.alone).bytes)
            .adding("attacked", json: texts(run.attacked).bytes)
            .adding("memoryBefore", run.memoryBefore).adding("memoryMost", run.memoryMost)
            .adding("memoryAfter", run.memoryAfter).adding("isSetUp", json: "\(run.isSetUp)".utf8)
    }

    private static func json(_ waits: Waits) -> ObjectWriter {
        ObjectWriter().adding("count", waits.all.count).adding("p50", json: "\(waits.p50)".utf8)
            .adding("p99", json: "\(waits.p99)".utf8).adding("longest", json: "\(waits.longest)".utf8)
            .adding("isEndless", json: "\(waits.isEndless)".utf8)
            .adding("cpuNanosecondsMost", waits.cpuNanosecondsMost)
    }
}
