// What a person has chosen to see of `top`: in which order each table is, and from which row on. The keys are
// those of htop.

/// A column of a table of `top`.
struct TopColumn<Row> {
    let column: TextTable.Column
    /// What it sorts by, the largest first; nil if it sorts by its text.
    var number: ((Row) -> Double)?
    let text: (Row) -> String

    init(_ column: TextTable.Column, _ number: ((Row) -> Double)? = nil, text: @escaping (Row) -> String) {
        self.column = column
        self.number = number
        self.text = text
    }

    fileprivate func isBefore(_ first: Row, _ second: Row) -> Bool {
        guard let number else { return text(first) < text(second) }
        return number(first) > number(second)
    }
}

/// The order of both tables, and how far each is scrolled.
struct TopView {
    /// The choice for one table.
    struct Choice {
        /// The column that it is sorted by; nil for the usual order.
        fileprivate(set) var column: Int?
        fileprivate(set) var isTurned = false
        fileprivate(set) var firstRow = 0

        /// The title with a mark if the table is sorted by it.
        func title(_ title: String, of place: Int) -> String {
            guard column == place else { return title }
            return title + (isTurned ? "↑" : "↓")
        }

        /// The rows in the chosen order. Rows that are alike stay in the usual one.
        func sorted<Row>(_ rows: [Row], by columns: [TopColumn<Row>]) -> [Row] {
            guard let column, columns.indices.contains(column) else {
                return isTurned ? rows.reversed() : rows
            }
            return rows.enumerated().sorted { first, second in
                let (one, other) = isTurned ? (second, first) : (first, second)
                if columns[column].isBefore(one.element, other.element) { return true }
                if columns[column].isBefore(other.element, one.element) { return false }
                return first.offset < second.offset
            }
            .map(\.element)
        }

        fileprivate mutating func sort(by step: Int, of count: Int) {
            // The usual order is before the first column and after the last.
            let place = ((column ?? -1) + 1 + step + count + 1) % (count + 1)
            column = place == 0 ? nil : place - 1
            firstRow = 0
        }

        fileprivate mutating func scroll(by step: Int, of count: Int) {
            firstRow = max(0, min(min(firstRow, count) + step, count - 1))
        }
    }

    /// How many columns and rows a table has.
    struct Extent {
        let columns: Int
        let rows: Int
    }

    var keys = Choice()
    var clients = Choice()
    /// Whether keys concern the clients' table.
    private(set) var isInClients = false

    /// Takes a key. `page` is how many rows a page has.
    mutating func take(_ key: KeyPress, keys extent: Extent, clients other: Extent, page: Int) {
        if key == .letter("\t") {
            isInClients.toggle()
        } else if isInClients {
            Self.take(key, &clients, other, page)
        } else {
            Self.take(key, &keys, extent, page)
        }
    }

    private static func take(_ key: KeyPress, _ choice: inout Choice, _ extent: Extent, _ page: Int) {
        switch key {
        case .up: choice.scroll(by: -1, of: extent.rows)
        case .down: choice.scroll(by: 1, of: extent.rows)
        case .pageUp: choice.scroll(by: -page, of: extent.rows)
        case .pageDown: choice.scroll(by: page, of: extent.rows)
        case .home: choice.firstRow = 0
        case .end: choice.scroll(by: extent.rows, of: extent.rows)
        case .letter(">"), .letter("."), .f6: choice.sort(by: 1, of: extent.columns)
        case .letter("<"), .letter(","): choice.sort(by: -1, of: extent.columns)
        case .letter("I"): choice.isTurned.toggle()
        default: break
        }
    }
}
