// Limits the width of a bench's text, so that no line is wider
// than most terminals, whatever was measured. It breaks lines
// only between words.

/// Lines of limited width.
enum PageWidth {
    private static let columnsMax = 100

    /// Words in lines of at most so many columns. Lines after the first are indented.
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

    /// The lines of a page, each with a line feed.
    static func text(_ text: String) -> String {
        wrapped(text, columnsMax).map { $0 + "\n" }.joined()
    }

    /// The same, with all lines indented.
    static func note(_ text: String, indent: String = "  ") -> String {
        wrapped(text, columnsMax - 2, indent: indent).map { "  \($0)\n" }.joined()
    }
}
