// A bench as a person reads it in a terminal: a block for each workload, a line for
// each system.

/// Text of rows.
enum Table {
    /// One workload's block, its lines ended by line feeds.
    static func text(of row: Row) -> String {
        let columns = Column.all(for: row.workload).filter { $0.isMeasured(in: row) }
        let head = [""] + columns.map(\.title)
        let lines = row.systems.map { system in [system.system] + columns.map { $0.text(system, row) } }
        let title = PageWidth.wrapped(title(of: row.workload)).map { $0 + "\n" }.joined()
        return title + aligned([head] + lines) + notes(row)
    }

    private static func notes(_ row: Row) -> String {
        let failures = row.failures.map { "\($0.system) failed: \($0.reason)" }
        return (failures + stopped(row) + allocations(row) + marks(row))
            .flatMap { PageWidth.wrapped($0, PageWidth.columnsMax - 2) }.map { "  \($0)\n" }.joined()
    }

    /// How often the broker asked for memory, where that was counted.
    private static func allocations(_ row: Row) -> [String] {
        row.samples(of: "plugboard")?.figure(.allocationsPerMessage).map {
            ["plugboard asked for memory \(Digits.rare($0.median)) times a message"]
        } ?? []
    }

    /// What became of an observer that didn't read.
    static func stopped(_ row: Row) -> [String] {
        guard let samples = row.samples(of: "plugboard"), let bytes = samples.figure(.bytesOfStopped),
            let lines = samples.figure(.linesPerKeyAfterWaking)
        else { return [] }
        return [
            "the broker's memory grew by \(Digits.text(bytes.median)) bytes while one didn't read; then "
                + "\(Digits.short(lines.median)) line for each changed key brought it up to date"
        ]
    }

    /// The marks of its columns, explained.
    private static func marks(_ row: Row) -> [String] {
        guard row.workload.measure == .rate else { return [] }
        var notes: [String] = []
        if row.systems.contains(where: \.isHeldBackByGenerator) {
            notes.append("* held back by the load generator, which used more CPU than the server")
        }
        if row.systems.contains(where: { row.hasEqualBatch($0) == false }) {
            notes.append("≠ took in other batches a turn than plugboard")
        }
        let counted = row.systems.filter { $0.samples.figure(.messagesPerRead) != nil }
        if counted.contains(where: { row.hasEqualBatch($0) == nil }) {
            notes.append("~ reads several times a turn, so that the batch is larger than this")
        }
        return notes
    }

    private static func title(of workload: Workload) -> String {
        "\(workload.name): \(conditions(of: workload))"
    }

    /// What a row is about, in words.
    static func conditions(of workload: Workload) -> String {
        var parts: [String] = []
        switch workload.measure {
        case .rate, .roundTrip:
            parts.append("\(workload.valueBytes)-byte values")
            parts.append(counted(workload.publishers, "publisher"))
            parts.append(counted(workload.observers, "observer"))
            if workload.connectionsAtRest > 0 {
                parts.append(counted(workload.connectionsAtRest, "connection") + " at rest")
            }
            parts += options(of: workload)
            if let keeping = words(for: workload.keeping) { parts.append(keeping) }
            if workload.keys > 1 { parts.append(counted(workload.keys, "key")) }
            parts.append("batches of \(workload.batch)")
        case .idle(let connections): parts.append("\(connections) connections, a subscription each")
        case .startUp: parts.append("from starting the process to its first reply")
        case .snapshot:
            parts.append(
                "the longest wait for an answer while a snapshot of \(counted(workload.keys, "key")) is made"
            )
            parts.append("batches of \(workload.batch), one at a time")
        case .recovery:
            parts.append(
                "from starting the process on \(counted(workload.keys, "kept key")) to its first reply"
            )
        }
        return parts.joined(separator: ", ")
    }

    /// The options that a row is about, as the protocol spells them.
    private static func options(of workload: Workload) -> [String] {
        let acknowledging = workload.acknowledging.map { "one of them with \($0)" }
        let bystander = workload.bystander.map {
            $0.reads ? "beside \($0.request)" : "one more that doesn't read"
        }
        return [
            workload.subscribing, acknowledging ?? "", workload.writing,
            workload.operation == .call ? "who answers calls" : "", bystander ?? "",
        ].filter { !$0.isEmpty }
    }

    private static func words(for keeping: Workload.Keeping) -> String? {
        switch keeping {
        case .nothing: nil
        case .journal: "with a journal"
        case .durable: "on disk before it is answered (nats: in a file)"
        }
    }

    private static func counted(_ count: Int, _ thing: String) -> String {
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
    let title: String
    let text: @Sendable (SystemRow, Row) -> String

    static func all(for workload: Workload) -> [Column] {
        switch workload.measure {
        case .rate:
            [rate, figure(.cpuNanosecondsPerMessage, "CPU ns")]
                + (workload.observers > 0 ? [figure(.cpuNanosecondsPerDelivery, "delivery")] : [])
                + [batch]
                + (workload.isPlain
                    ? [
                        timesLimit(.cpuNanosecondsPerMessage), ours(.messagesPerSecond, "our rate"),
                        ours(.cpuNanosecondsPerMessage, "our CPU"),
                    ]
                    : [
                        timesWithout(.messagesPerSecond, "rate × without"),
                        timesWithout(.cpuNanosecondsPerMessage, "CPU × without"),
                    ])
        case .roundTrip:
            [
                figure(.roundTripP50Microseconds, "p50 µs", spread: true),
                figure(.roundTripP99Microseconds, "p99 µs", spread: true),
                figure(.roundTripP999Microseconds, "p99.9 µs"), figure(.cpuNanosecondsPerMessage, "CPU ns"),
            ]
                + (workload.isPlain
                    ? [
                        timesLimit(.roundTripP50Microseconds),
                        timesLimit(.roundTripP99Microseconds, "p99 × limit"),
                        ours(.roundTripP50Microseconds, "our p50"),
                    ]
                    : [
                        timesWithout(.roundTripP50Microseconds, "p50 × without"),
                        timesWithout(.cpuNanosecondsPerMessage, "CPU × without"),
                    ])
        case .idle:
            [
                figure(.bytesPerConnection, "bytes/connection", spread: true),
                ours(.bytesPerConnection, "ours"),
            ]
        case .snapshot: [figure(.longestRoundTripMilliseconds, "ms", spread: true)]
        case .startUp, .recovery:
            [figure(.startMilliseconds, "ms", spread: true), ours(.startMilliseconds, "ours")]
        }
    }

    /// Nothing is said where nothing was measured.
    func isMeasured(in row: Row) -> Bool {
        row.systems.contains { !["", "–"].contains(text($0, row)) }
    }

    private static func figure(_ quantity: Quantity, _ title: String, spread: Bool = false) -> Column {
        Column(title: title) { system, _ in
            guard let figure = system.samples.figure(quantity) else { return "–" }
            return Digits.text(figure.median) + (spread ? Self.spread(of: figure) : "")
        }
    }

    /// ` ±12%`: how far the farthest run was from the median.
    private static func spread(of figure: Figure) -> String {
        guard figure.least < figure.most, figure.median > 0 else { return "" }
        let part = max(figure.most - figure.median, figure.median - figure.least) / figure.median
        return " ±\(Int(min(999, (part * 100).rounded(.up))))%"
    }

    private static let rate = Column(title: "messages/s") { system, row in
        figure(.messagesPerSecond, "", spread: true).text(system, row)
            + (system.isHeldBackByGenerator ? "*" : "")
    }

    private static let batch = Column(title: "batch") { system, row in
        guard let figure = system.samples.figure(.messagesPerRead) else { return "–" }
        let mark =
            switch row.hasEqualBatch(system) {
            case true: ""
            case false: "≠"
            case nil: "~"
            }
        return Digits.text(figure.median) + mark
    }

    /// A system's cost as a multiple of the limit's.
    private static func timesLimit(_ quantity: Quantity, _ title: String = "× limit") -> Column {
        times(quantity, title, of: "limit")
    }

    /// As a multiple of the same row's without its option.
    private static func timesWithout(_ quantity: Quantity, _ title: String) -> Column {
        times(quantity, title, of: PlugboardDialect.plainName)
    }

    private static func times(_ quantity: Quantity, _ title: String, of other: String) -> Column {
        Column(title: title) { system, row in
            guard let other = row.samples(of: other), let ratio = system.samples.ratio(quantity, to: other)
            else { return "–" }
            return Digits.ratio(ratio)
        }
    }

    /// How many times better plugboard is: faster, or cheaper.
    private static func ours(_ quantity: Quantity, _ title: String) -> Column {
        Column(title: title) { system, row in
            guard let ours = row.samples(of: "plugboard"), system.system != "plugboard" else { return "" }
            let ratio =
                quantity.isGain
                ? ours.ratio(quantity, to: system.samples) : system.samples.ratio(quantity, to: ours)
            return ratio.map { Digits.ratio($0) + "×" } ?? "–"
        }
    }
}
