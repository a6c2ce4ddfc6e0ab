// A command line as bash has it, up to the cursor: its words without their quotes, and how a word that
// replaces the last one has to be written there.

/// The words before the cursor, and the one at the cursor.
struct ShellLine: Equatable {
    /// The finished words, the program's name first.
    private(set) var words: [String] = []
    /// The word at the cursor; empty after a space.
    private(set) var current = ""
    /// The quote in which the cursor is.
    private(set) var quote: Character?
    /// Whether the word at the cursor is a file's name after `>` or `<`.
    private(set) var isRedirection = false
    /// The current word as it was typed.
    private var typed = ""
    private var isEscaped = false
    private var hasWord = false

    init(_ line: String) {
        for character in line { take(character) }
        // Before the program there may be assignments to variables.
        while let first = words.first, first.contains("="), !first.hasPrefix("-") { words.removeFirst() }
    }

    /// The word as readline wants it: quoted, and without the part that readline has cut off at one of
    /// `breaks`.
    func replacement(_ word: String, breaks: String) -> String {
        switch quote {
        case "'":
            return word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
        case .some: return Self.escaped(word, "$`\"\\!")
        case nil: break
        }
        let text = Self.escaped(word, " \t\n'\"\\$`&|;<>()*?[]#~{}!^")
        let cut = typed.lastIndex { breaks.contains($0) && "=:@".contains($0) }
        guard let cut else { return text }
        let count = typed[...cut].count
        return String(text.dropFirst(count))
    }

    private static func escaped(_ word: String, _ special: String) -> String {
        word.reduce(into: "") { text, character in
            if special.contains(character) { text.append("\\") }
            text.append(character)
        }
    }

    private mutating func take(_ character: Character) {
        if isEscaped {
            isEscaped = false
            // Within double quotes, a backslash stands for itself before most characters.
            if quote == "\"", !"$`\"\\".contains(character) { current.append("\\") }
            return append(character)
        }
        switch (quote, character) {
        case ("'", "'"), ("\"", "\""): close(character)
        case ("'", _): append(character)
        case (_, "\\"):
            isEscaped = true
            typed.append(character)
        case ("\"", _): append(character)
        case (nil, "'"), (nil, "\""): open(character)
        case (nil, " "), (nil, "\t"): finish()
        case (nil, "<"), (nil, ">"):
            finish()
            isRedirection = true
        default: append(character)
        }
    }

    private mutating func append(_ character: Character) {
        current.append(character)
        typed.append(character)
        hasWord = true
    }

    private mutating func open(_ character: Character) {
        quote = character
        typed.append(character)
        hasWord = true
    }

    private mutating func close(_ character: Character) {
        quote = nil
        typed.append(character)
    }

    private mutating func finish() {
        guard hasWord else { return }
        if !isRedirection { words.append(current) }
        (current, typed, hasWord, isRedirection) = ("", "", false, false)
    }
}
