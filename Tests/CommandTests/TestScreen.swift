// A terminal's screen, as far as `top` needs one. It complains about all other control sequences.

@testable import plugboard

/// A screen of characters.
struct TestScreen {
    private(set) var isAlternate = false
    private(set) var showsCursor = true
    private(set) var wraps = true
    /// Bytes that this program should never send to a screen.
    private(set) var complaints: [String] = []
    private var grid: [[Character]]
    private let columns: Int
    private var row = 0
    private var column = 0

    init(columns: Int, rows: Int) {
        self.columns = columns
        grid = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    }

    init(columns: Int, rows: Int, showing text: String) {
        self.init(columns: columns, rows: rows)
        take(text)
    }

    /// The lines without the spaces at their ends.
    var lines: [String] {
        grid.map { line in
            var text = line.filter { $0 != Self.covered }[...]
            while text.last == " " { text.removeLast() }
            return String(text)
        }
    }

    /// The second half of a wide character.
    private static let covered: Character = "\u{0}"

    mutating func take(_ text: String) {
        var rest = Substring(text)
        while let character = rest.popFirst() {
            if character == "\u{1B}" {
                takeSequence(&rest)
            } else if character.unicodeScalars.contains(where: {
                $0.value < 0x20 || (0x7F..<0xA0).contains($0.value)
            }) {
                complaints.append("control character \(character.debugDescription)")
            } else {
                put(character)
            }
        }
    }

    private mutating func put(_ character: Character) {
        let width = DisplayWidth.of(String(character))
        guard row < grid.count, column + width <= columns else {
            complaints.append("\(character) at \(row), \(column)")
            return
        }
        grid[row][column] = character
        if width == 2 { grid[row][column + 1] = Self.covered }
        column += width
    }

    private mutating func takeSequence(_ rest: inout Substring) {
        guard rest.popFirst() == "[" else { return complaints.append("an escape of another kind") }
        let parameters = rest.prefix { $0.isNumber || $0 == ";" || $0 == "?" }
        rest.removeFirst(parameters.count)
        let numbers = parameters.split(separator: ";").compactMap { Int($0) }
        let end = rest.popFirst()
        if end == "K", row >= grid.count { return complaints.append("row \(row)") }
        switch (end, String(parameters)) {
        case ("H", _):
            row = (numbers.first ?? 1) - 1
            column = (numbers.dropFirst().first ?? 1) - 1
        // A cursor after the last column counts as in it.
        case ("K", ""): for place in min(column, columns - 1)..<columns { grid[row][place] = " " }
        case ("J", ""):
            for below in min(row, grid.count)..<grid.count {
                grid[below] = Array(repeating: " ", count: columns)
            }
        case ("J", "2"): for place in grid.indices { grid[place] = Array(repeating: " ", count: columns) }
        case ("m", _): break
        case (let end, "?1049"): isAlternate = end == "h"
        case (let end, "?25"): showsCursor = end == "h"
        case (let end, "?7"): wraps = end == "h"
        case (let end, let parameters): complaints.append("[\(parameters)\(end.map(String.init) ?? "")")
        }
    }
}
