// Makes the lines of `top` from its state and the terminal's size. It changes nothing. Text from other
// programs, such as keys and names, is made safe to show here.

import PlugboardPosix
import PlugboardWire

/// Lines for a screen.
struct TopPicture {
    /// The least width for two tables beside each other.
    private static let wideColumns = 132
    private static let gapColumns = 4
    /// The greatest width of a name, so that a long one leaves room for the other columns.
    private static let nameColumnsMax = 24
    /// How many names of slow clients one line has.
    private static let namesMax = 5
    /// The rows of a table, if there are that many.
    private static let leastRows = 3

    let state: TopState
    let paint: Paint
    var view = TopView()

    /// Changes the view as a key says, on a screen with so many rows.
    func take(_ key: KeyPress, _ view: inout TopView, rows: Int) {
        let keys = TopView.Extent(columns: keyColumns.count, rows: state.keys.count)
        let clients = TopView.Extent(columns: clientColumns.count, rows: state.clientCount)
        // Both tables share the screen, and something of the last page stays in sight.
        view.take(key, keys: keys, clients: clients, page: max(1, rows / 3))
    }

    /// The lines that fit in `size`, none wider than it.
    func lines(size: TerminalSize, isHeld: Bool = false) -> [String] {
        let footer = size.rows >= 6 ? [footer(size.columns, isHeld)] : []
        var lines = head(size)
        var room = size.rows - lines.count - footer.count
        let warnings = warningLines(width: size.columns, room: room / 3)
        room -= warnings.count
        lines += tables(width: size.columns, room: room)
        let space = max(0, size.rows - lines.count - warnings.count - footer.count)
        lines += Array(repeating: "", count: space)
        return Array((lines + warnings + footer).prefix(size.rows))
    }

    /// What there is now, and which keys have changed in so many seconds, as a report.
    func report(rows: Int, seconds: Double) -> [String] {
        let width = 10_000
        var lines = [title(width), figures(width: width, lines: 1).joined()] + floodLines(width)
        let noKeys = "no key has changed within \(Amount.seconds(seconds)); plugboard keys lists all"
        lines += [""] + table(keyTable(rows), rows: rows, width: width, empty: noKeys)
        lines += [""] + table(clientTable(rows), rows: rows, width: width, empty: Self.noClients)
        let warnings = warningLines(width: width, room: rows + 1)
        return lines + (warnings.isEmpty ? [] : [""] + warnings)
    }

    /// The state at one moment, as one line.
    func line(at time: String) -> String {
        let busiest = state.keys.busiest(state.periods).first.map { row in
            "busiest \(Printable.text(row.key)) \(Amount.rate(row.rate))/s"
        }
        let paused = names(of: .paused)
        let parts =
            [time] + state.figures + (busiest.map { [$0] } ?? [])
            + ["slow \(names(of: .lagging) ?? "none")"] + (paused.map { ["paused \($0)"] } ?? [])
            + ["warnings \(state.warnings.count)"] + floods
        return parts.joined(separator: "  ")
    }

    /// The first few clients in this state; nil if there is none.
    private func names(of clients: TopClient.State) -> String? {
        let names = state.clients.filter { $0.state == clients }.map { Printable.text($0.name) }
        guard !names.isEmpty else { return nil }
        return names.prefix(Self.namesMax).joined(separator: ",") + (names.count > Self.namesMax ? ",…" : "")
    }

    private static let noKeys = "no key has changed yet"
    private static let noClients = "this broker doesn't tell of its clients"

    // MARK: - Head and foot

    private func head(_ size: TerminalSize) -> [String] {
        let title = title(size.columns)
        guard size.rows >= 4 else { return [title] }
        // On a narrow terminal the figures take more lines.
        let most = size.columns < 72 ? 3 : 2
        let figures = figures(width: size.columns, lines: size.rows >= 20 ? most : 1)
        return [title] + figures + floodLines(size.columns) + (size.rows >= 16 ? [""] : [])
    }

    private func title(_ width: Int) -> String {
        let text = DisplayWidth.shortened(CommandConsole.shown(state.title), width)
        return paint.bold(text)
    }

    private func figures(width: Int, lines count: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for figure in state.figures {
            let next = line.isEmpty ? figure : "\(line)   \(figure)"
            if DisplayWidth.of(next) <= width {
                line = next
            } else {
                lines.append(line)
                line = figure
            }
        }
        lines.append(line)
        return lines.prefix(count).map { DisplayWidth.shortened($0, width) }
    }

    private func footer(_ width: Int, _ isHeld: Bool) -> String {
        let table = view.isInClients ? "clients" : "keys"
        let keys =
            (isHeld ? "held; p goes on   q leaves" : "q leaves   p holds the picture")
            + "   \(table): ↑ ↓ scroll  < > sort  I turns  Tab other table"
        return paint.dim(DisplayWidth.shortened(keys, width))
    }

    // MARK: - Tables

    private func tables(width: Int, room: Int) -> [String] {
        guard room > 1 else { return [] }
        if width >= Self.wideColumns {
            let each = (width - Self.gapColumns) / 2
            let left = table(keyTable(room - 1), rows: room - 1, width: each, empty: Self.noKeys)
            let right = table(clientTable(room - 1), rows: room - 1, width: each, empty: Self.noClients)
            return beside(left, right, each)
        }
        // The tables with their titles, and an empty line between them if there is room. Each gets
        // the room that the other leaves.
        let gap = room >= 12 ? [""] : []
        let rows = room - 2 - gap.count
        guard rows >= 2 else {
            return table(keyTable(room - 1), rows: room - 1, width: width, empty: Self.noKeys)
        }
        let wanted = min(max(1, state.keys.count), rows)
        let clients = min(max(1, state.clientCount), max(Self.leastRows, rows / 2))
        let some = max(min(wanted, rows - clients), min(wanted, rows / 2))
        let keys = table(keyTable(some), rows: some, width: width, empty: Self.noKeys)
        let left = room - keys.count - 1 - gap.count
        return keys + gap + table(clientTable(left), rows: left, width: width, empty: Self.noClients)
    }

    /// The table, or a text if it has no rows.
    private func table(_ table: TextTable, rows: Int, width: Int, empty: String) -> [String] {
        guard rows > 0 else { return [] }
        if table.rows.isEmpty { return [paint.dim(DisplayWidth.shortened(empty, width))] }
        return table.lines(width: width, paint: paint)
    }

    /// `KEY`, `KEY (3 of 12)`, or `KEY (7-9 of 12)` if it is scrolled.
    private func heading(_ name: String, _ shown: Range<Int>, of all: Int) -> String {
        if shown.count == all { return name }
        let rows = shown.lowerBound == 0 ? "\(shown.count)" : "\(shown.lowerBound + 1)-\(shown.upperBound)"
        return "\(name) (\(rows) of \(Amount.count(UInt64(all))))"
    }

    private func beside(_ left: [String], _ right: [String], _ width: Int) -> [String] {
        (0..<max(left.count, right.count)).map { row in
            let first = row < left.count ? left[row] : ""
            // Colours have no width.
            let shown = DisplayWidth.of(Paint.without(first))
            let space = String(repeating: " ", count: max(0, width + Self.gapColumns - shown))
            return row < right.count ? first + space + right[row] : first
        }
    }

    private func keyTable(_ count: Int) -> TextTable {
        table(state.keys.busiest(state.periods), keyColumns, view.keys, count) {
            isFlooding($0.rate, allKeys)
        }
    }

    private func clientTable(_ count: Int) -> TextTable {
        table(state.clients, clientColumns, view.clients, count) {
            $0.state != .live || isFlooding($0.lines.rate(state.periods), allClients)
        }
    }

    /// The rows that are in sight, in the chosen order.
    private func table<Row>(
        _ rows: [Row],
        _ columns: [TopColumn<Row>],
        _ choice: TopView.Choice,
        _ count: Int,
        isMarked: (Row) -> Bool
    ) -> TextTable {
        let first = max(0, min(choice.firstRow, rows.count - count))
        let shown = choice.sorted(rows, by: columns).dropFirst(first).prefix(count)
        return TextTable(
            columns: columns.enumerated().map { place, column in
                var column = column.column
                if place == 0 {
                    column.title = heading(column.title, first..<first + shown.count, of: rows.count)
                }
                column.title = choice.title(column.title, of: place)
                return column
            },
            rows: shown.map { row in
                TextTable.Row(cells: columns.map { $0.text(row) }, isMarked: isMarked(row))
            }
        )
    }

    private var keyColumns: [TopColumn<KeyRates.Row>] {
        [
            .init(.init(title: "KEY", givesWay: true)) { Printable.text($0.key) },
            .init(.init(title: "CHANGES/s", atEnd: true), { $0.rate }) { Amount.rate($0.rate) },
            .init(.init(title: "TOTAL", atEnd: true, rank: 1), { Double($0.total) }) {
                Amount.count($0.total)
            },
            .init(.init(title: "LAST BY", rank: 2, columnsMax: Self.nameColumnsMax)) {
                Printable.text($0.by)
            },
        ]
    }

    private var clientColumns: [TopColumn<TopClient>] {
        let periods = state.periods
        return [
            .init(.init(title: "CLIENT", givesWay: true)) { Printable.text($0.name) },
            .init(.init(title: "STATE"), { -Double($0.state.rawValue) }) { "\($0.state)" },
            .init(.init(title: "QUEUED", atEnd: true, rank: 1), { Double($0.queued) }) {
                $0.queued == 0 ? "" : Amount.bytes($0.queued)
            },
            .init(.init(title: "OWED", atEnd: true, rank: 2), { Double($0.owed) }) {
                $0.owed == 0 ? "" : Amount.count($0.owed)
            },
            .init(.init(title: "LINES/s", atEnd: true, rank: 3), { $0.lines.rate(periods) }) {
                Amount.rate($0.lines.rate(periods))
            },
            .init(.init(title: "SENT/s", atEnd: true, rank: 4), { $0.sent.rate(periods) }) {
                Amount.bytes(UInt64($0.sent.rate(periods)))
            },
            .init(.init(title: "SUBS", atEnd: true, rank: 5), { Double($0.subscriptions) }) {
                Amount.count($0.subscriptions)
            },
            .init(.init(title: "PID", atEnd: true, rank: 6), { -Double($0.pid ?? 0) }) {
                $0.pid.map { "\($0)" } ?? ""
            },
            .init(.init(title: "NO", atEnd: true, rank: 7), { -Double($0.number) }) { "\($0.number)" },
        ]
    }

    // MARK: - Floods

    /// From so many a second on, more than half of everything is a flood.
    static let floodRate = 100.0

    private var allKeys: Double { state.keys.rate(state.periods) }

    private var allClients: Double {
        state.clients.reduce(0) { $0 + $1.lines.rate(state.periods) }
    }

    private func isFlooding(_ rate: Double, _ all: Double) -> Bool {
        rate >= Self.floodRate && rate > all / 2
    }

    /// The client that sends, and the key that changes, more than all others together.
    private var floods: [String] {
        func text(_ name: String, _ rate: Double, _ unit: String, _ all: Double) -> String? {
            guard isFlooding(rate, all) else { return nil }
            let share = Int((rate / all * 100).rounded())
            return "flooded by \(Printable.text(name)): \(Amount.rate(rate)) \(unit)/s, \(share) % of all"
        }
        let client = state.clients.max { $0.lines.rate(state.periods) < $1.lines.rate(state.periods) }
        let key = state.keys.busiest(state.periods).first
        return [
            client.flatMap { text("client \($0.name)", $0.lines.rate(state.periods), "lines", allClients) },
            key.flatMap { text("key \($0.key)", $0.rate, "changes", allKeys) },
        ]
        .compactMap { $0 }
    }

    private func floodLines(_ width: Int) -> [String] {
        floods.map { paint.yellow(DisplayWidth.shortened($0, width)) }
    }

    // MARK: - Warnings

    private func warningLines(width: Int, room: Int) -> [String] {
        guard !state.warnings.isEmpty, room > 0 else { return [] }
        // The newest warnings matter most.
        return state.warnings.suffix(max(1, room)).map { warning in
            paint.red(DisplayWidth.shortened(Printable.text(warning.text), width))
        }
    }
}
