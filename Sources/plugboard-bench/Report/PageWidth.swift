// How wide a bench's text is: no line is wider than most terminals, whatever was measured.

/// Lines of bounded width.
enum PageWidth {
    private static let columnsMax = 100

    /// Words in lines of at most so many columns; those after the first are indented.
    static func wrapped(_ text: String, _ columns: Int, indent: String = "  ") -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = indent + word
            } else {
                line += line.isEmpty ? String(word) : " " + word
            }
        }
        return lines + [line]
    }

    /// Lines of a page, each ended.
    static func text(_ text: String) -> String {
        wrapped(text, columnsMax).map { $0 + "\n" }.joined()
    }

    /// The same, indented as a whole.
    static func note(_ text: String, indent: String = "  ") -> String {
        wrapped(text, columnsMax - 2, indent: indent).map { "  \($0)\n" }.joined()
    }
}
