// A table of texts that fits a width: it leaves out the least important columns, and shortens one
// column.

/// Rows of cells under titles.
struct TextTable {
    struct Column {
        var title: String
        /// Whether the column is aligned to the right, as numbers are.
        var atEnd = false
        /// Columns of the highest rank are left out first; rank 0 stays.
        var rank = 0
        /// The greatest width. Wider cells are cut.
        var columnsMax = Int.max
        /// Whether this column is shortened if there is too little room. At most one is.
        var givesWay = false
    }

    struct Row {
        var cells: [String]
        var isMarked = false
    }

    private static let gap = 2
    /// The least width of the shortened column; below it, another column is left out.
    private static let leastColumns = 14

    let columns: [Column]
    var rows: [Row]

    /// The table's lines, its titles first, none wider than `width`.
    func lines(width: Int, paint: Paint) -> [String] {
        let widths = self.widths(fitting: width)
        let titles = line(columns.map(\.title), widths)
        return [paint.dim(DisplayWidth.shortened(titles, width))]
            + rows.map { row in
                let text = DisplayWidth.shortened(line(row.cells, widths), width)
                return row.isMarked ? paint.yellow(text) : text
            }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let last = widths.lastIndex { $0 > 0 }
        return columns.indices.filter { widths[$0] > 0 }.map { place in
            let cell = place < cells.count ? cells[place] : ""
            // Nothing follows the last cell, so it isn't padded.
            return place == last && !columns[place].atEnd
                ? DisplayWidth.shortened(cell, widths[place])
                : DisplayWidth.fitted(cell, widths[place], atEnd: columns[place].atEnd)
        }
        .joined(separator: String(repeating: " ", count: Self.gap))
    }

    /// The width of each column; 0 if it is left out.
    private func widths(fitting width: Int) -> [Int] {
        var widths = columns.indices.map { place in
            let widest = rows.reduce(DisplayWidth.of(columns[place].title)) { widest, row in
                place < row.cells.count ? max(widest, DisplayWidth.of(row.cells[place])) : widest
            }
            return min(widest, columns[place].columnsMax)
        }
        let giving = columns.firstIndex(where: \.givesWay) ?? 0
        let natural = widths[giving]
        while true {
            widths[giving] = 0
            let room = width - widths.reduce(0) { $0 + ($1 > 0 ? $1 + Self.gap : 0) }
            widths[giving] = max(1, min(natural, room))
            if room >= min(natural, Self.leastColumns) { return widths }
            let least = columns.indices.filter { widths[$0] > 0 && columns[$0].rank > 0 }.max {
                columns[$0].rank < columns[$1].rank
            }
            guard let least else { return widths }
            widths[least] = 0
        }
    }
}
