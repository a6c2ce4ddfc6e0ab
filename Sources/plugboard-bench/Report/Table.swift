// Shows a bench at a terminal: a block for each row, and in it a line for each system. A column without
// any figure is left out. Every mark is explained below the block.

enum Table {
    /// The block of a row. Each line ends with a line feed.
    static func text(of row: Row) -> String {
        let columns = Column.all(for: row.workload).filter { $0.isMeasured(in: row) }
        let head = [""] + columns.map(\.title)
        let lines = row.systems.map { system in [system.system] + columns.map { $0.text(system, row) } }
        let title = PageWidth.text("\(row.workload.name): \(conditions(of: row.workload))")
        return title + aligned([head] + lines) + notes(row).map { PageWidth.note($0) }.joined()
    }

    private static func notes(_ row: Row) -> [String] {
        let asked = row.samples(of: "plugboard")?.figure(.allocationsPerMessage).map {
            "plugboard asked for memory \(Digits.rare($0.median)) times a message"
        }
        return row.failures.map { "\($0.system) failed: \($0.reason)" } + stopped(row) + parts(of: row)
            + disk(row) + (asked.map { [$0] } ?? []) + marks(row)
    }

    /// What an observer that didn't read showed; empty if the row has none.
    static func stopped(_ row: Row) -> [String] {
        guard let samples = row.samples(of: "plugboard"), let bytes = samples.figure(.bytesOfStopped),
            let lines = samples.figure(.linesPerKeyAfterWaking)
        else { return [] }
        return [
            "the broker's memory grew by \(Digits.text(bytes.median)) bytes while one didn't read; then "
                + "\(Digits.short(lines.median)) line for each changed key brought it up to date"
        ]
    }

    /// The rates of the parts of a sustained row, and what a system wrote to disk; empty for other rows.
    static func parts(of row: Row) -> [String] {
        guard row.workload.isSustained else { return [] }
        return row.systems.compactMap { system in
            guard let rates = system.samples.values[.messagesPerSecond] else { return nil }
            let disk = [
                (Metric.bytesToDiskPerMessage, "bytes to disk a message"),
                (.folderBytes, "bytes of files at the end"),
            ]
            .compactMap { quantity, what in
                system.samples.figure(quantity).map { "\(Digits.text($0.median)) \(what)" }
            }
            let parts = "\(system.system), messages/s in \(rates.count) parts: "
            return ([parts + rates.map(Digits.text).joined(separator: " ")] + disk).joined(separator: "; ")
        }
    }

    /// What the disk itself takes; empty if that wasn't measured.
    private static func disk(_ row: Row) -> [String] {
        guard let bytes = row.diskBytesPerSecond, let messages = row.diskMessagesPerSecond else { return [] }
        return [
            "the disk itself takes \(Digits.text(bytes.median)) bytes/s, that is \(Digits.text(messages)) such messages/s"
        ]
    }

    /// Explanations of the marks in the row's columns.
    private static func marks(_ row: Row) -> [String] {
        guard row.workload.measure == .rate else { return [] }
        let counted = row.systems.filter { $0.samples.figure(.messagesPerRead) != nil }
        return [
            (
                row.systems.contains(where: \.isHeldBackByGenerator),
                "* held back by the load generator, which used more CPU than the server"
            ),
            (
                row.systems.contains { row.hasEqualBatch($0) == false },
                "≠ took in other batches a turn than plugboard"
            ),
            (
                counted.contains { row.hasEqualBatch($0) == nil },
                "~ reads several times a turn, so that the batch is larger than this"
            ),
        ].filter(\.0).map(\.1)
    }

    /// What a row measures, in words.
    static func conditions(of workload: Workload) -> String {
        let keys = counted(workload.keys, "key")
        switch workload.measure {
        case .rate, .roundTrip: return load(of: workload).filter { !$0.isEmpty }.joined(separator: ", ")
        case .idle(let connections): return "\(connections) connections, a subscription each"
        case .keys:
            let bytes = Names.key(0, of: workload).utf8.count
            return "memory for each of \(keys) of \(bytes) bytes and its value of \(workload.valueBytes)"
        case .startUp: return "from starting the process to its first reply"
        case .snapshot:
            return "the longest wait for an answer while a snapshot of \(keys) is made, "
                + "batches of \(workload.batch), one at a time"
        case .recovery:
            let kept = counted(workload.keys, "kept key")
            return "from starting the process on \(kept) to its first reply"
        }
    }

    /// The load in words. The row's options are spelled as in the protocol.
    private static func load(of workload: Workload) -> [String] {
        let atRest = workload.connectionsAtRest
        let bystander = workload.bystander.map {
            $0.reads ? "beside \($0.request)" : "one more that doesn't read"
        }
        let keeping =
            switch workload.keeping {
            case .nothing: ""
            case .journal: "kept as usual"
            case .durable: "on disk before it is answered (nats: in a file)"
            }
        return [
            workload.mixed.map { $0 == .spaced ? "real traffic as Python writes it" : "real traffic" }
                ?? "\(workload.valueBytes)-byte values",
            counted(workload.publishers, "publisher"),
            counted(workload.observers, "observer"),
            atRest > 0 ? counted(atRest, "connection") + " at rest" : "", workload.subscribing,
            workload.acknowledging.map { "one of them with \($0)" } ?? "", workload.writing,
            workload.operation == .call ? "who answers calls" : "", bystander ?? "", keeping,
            workload.keys > 1 ? counted(workload.keys, "key") : "", "batches of \(workload.batch)",
        ]
    }

    static func counted(_ count: Int, _ thing: String) -> String {
        "\(count) \(thing)\(count == 1 ? "" : "s")"
    }

    static func aligned(_ lines: [[String]]) -> String {
        let widths = (lines.first ?? []).indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { cells in
            let padded = zip(cells, widths).enumerated().map { place, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return place == 0 ? cell.0 + padding : padding + cell.0
            }
            let line = "  " + padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }
}

/// One column of the table.
private struct Column: Sendable {
    enum Kind: Sendable {
        case figure
        /// A figure with ` ±12%`, the distance of the farthest run from the median.
        case spread
        /// A multiple of the figure of another system, whose name ends the title: the limit, or the same
        /// row without its option.
        case times
        /// How many times better plugboard is.
        case ours
        /// A figure with `≠` or `~` if CPU per message can't be compared.
        case batch
    }

    let kind: Kind
    let quantity: Metric
    let title: String

    init(_ kind: Kind, _ quantity: Metric, _ title: String) {
        self.kind = kind
        self.quantity = quantity
        self.title = title
    }

    static func all(for workload: Workload) -> [Column] {
        let cpu = Metric.cpuNanosecondsPerMessage
        let isPlain = workload.isPlain
        switch workload.measure {
        case .rate:
            return [Column(.spread, .messagesPerSecond, "messages/s"), Column(.figure, cpu, "CPU ns")]
                + (workload.observers > 0 ? [Column(.figure, .cpuNanosecondsPerDelivery, "delivery")] : [])
                + [
                    Column(.batch, .messagesPerRead, "batch"),
                    isPlain
                        ? Column(.times, cpu, "× limit")
                        : Column(.times, .messagesPerSecond, "rate × without"),
                ]
                + (isPlain
                    ? [Column(.ours, .messagesPerSecond, "our rate"), Column(.ours, cpu, "our CPU")]
                    : [Column(.times, cpu, "CPU × without")])
        case .roundTrip:
            let (p50, p99) = (Metric.roundTripP50Microseconds, Metric.roundTripP99Microseconds)
            return [
                Column(.spread, p50, "p50 µs"), Column(.spread, p99, "p99 µs"),
                Column(.figure, .roundTripP999Microseconds, "p99.9 µs"), Column(.figure, cpu, "CPU ns"),
            ]
                + (isPlain
                    ? [
                        Column(.times, p50, "× limit"), Column(.times, p99, "p99 × limit"),
                        Column(.ours, p50, "our p50"),
                    ] : [Column(.times, p50, "p50 × without"), Column(.times, cpu, "CPU × without")])
        case .idle:
            return [
                Column(.spread, .bytesPerConnection, "bytes/connection"),
                Column(.ours, .bytesPerConnection, "ours"),
            ]
        case .keys: return [Column(.spread, .bytesPerKey, "bytes/key"), Column(.ours, .bytesPerKey, "ours")]
        case .snapshot: return [Column(.spread, .longestRoundTripMilliseconds, "ms")]
        case .startUp, .recovery:
            return [Column(.spread, .startMilliseconds, "ms"), Column(.ours, .startMilliseconds, "ours")]
        }
    }

    /// Whether any system has a figure here. Otherwise the column is left out.
    func isMeasured(in row: Row) -> Bool {
        row.systems.contains { !["", "–"].contains(text($0, row)) }
    }

    func text(_ system: SystemRow, _ row: Row) -> String {
        let figure = system.samples.figure(quantity)
        switch kind {
        case .figure: return figure.map { Digits.text($0.median) } ?? "–"
        case .spread:
            guard let figure else { return "–" }
            let isHeldBack = quantity == .messagesPerSecond && system.isHeldBackByGenerator
            return Digits.text(figure.median) + Self.spread(of: figure) + (isHeldBack ? "*" : "")
        case .batch:
            let mark = row.hasEqualBatch(system).map { $0 ? "" : "≠" } ?? "~"
            return figure.map { Digits.text($0.median) + mark } ?? "–"
        case .times:
            let other = String(title.split(separator: " ").last ?? "")
            return row.ratio(quantity, system.system, to: other).map(Digits.ratio) ?? "–"
        case .ours:
            guard row.samples(of: "plugboard") != nil, system.system != "plugboard" else { return "" }
            return row.advantage(quantity, over: system.system).map { Digits.ratio($0) + "×" } ?? "–"
        }
    }

    private static func spread(of figure: Figure) -> String {
        guard figure.least < figure.most, figure.median > 0 else { return "" }
        let part = max(figure.most - figure.median, figure.median - figure.least) / figure.median
        return " ±\(Int(min(999, (part * 100).rounded(.up))))%"
    }
}
