// Limits the width of a bench's text, so that no line is wider than most terminals. It breaks lines only
// between words.

import PlugboardWire

enum PageWidth {
    private static let columnsMax = 100

    /// The text in lines that each end with a line feed.
    static func text(_ text: String) -> String {
        TextLayout.wrapped(text, hanging: 2, width: columnsMax).map { $0 + "\n" }.joined()
    }

    /// The same with all lines indented.
    static func note(_ text: String, hanging: Int = 2) -> String {
        TextLayout.wrapped(text, indent: 2, hanging: hanging, width: columnsMax).map { $0 + "\n" }.joined()
    }
}
