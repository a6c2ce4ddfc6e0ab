// How wide a bench's text is: no line is wider than most terminals, whatever was measured.

/// Lines of bounded width.
enum PageWidth {
    static let columnsMax = 100

    /// Words in lines of at most so many columns; those after the first are indented.
    static func wrapped(_ text: String, _ columns: Int = columnsMax, indent: String = "  ") -> [String] {
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
}
