// What a command declares of itself. Its help, its parsing and its "did you mean"
// all derive from this, so a new command is one file and one row in the table.

/// One word after `plugboard`.
struct Command: Sendable {
    /// Where the overview lists it.
    enum Group: String, CaseIterable, Sendable {
        case run = "Run the bus"
        case write = "Write"
        case read = "Read"
        case about = "Find out"
        /// For the program's own use: left out of the overview.
        case hidden = ""
    }

    let name: String
    let group: Group
    /// One line, no full stop, lower case: for the overview.
    let summary: String
    /// The arguments that are not options, in order.
    var parameters: [Parameter] = []
    /// The forms of the command line, without `plugboard NAME`, if the parameters alone don't show
    /// them.
    var forms: [String] = []
    /// Beside `--help`, which every command has.
    var options: [Option] = []
    /// Paragraphs that say what a person needs to know.
    var details: String = ""
    /// Command lines without the leading `plugboard`.
    var examples: [String] = []
    /// Another program reads them, `--help` as well.
    var takesWordsAsTheyAre = false
    let run: @Sendable (Invocation, Console) throws -> Void

    /// Runs it with words that nobody has looked at.
    func pass(_ words: [String], _ console: Console) throws {
        try run(Invocation(command: self, arguments: words, values: [:]), console)
    }
}

/// An argument that is not an option.
struct Parameter: Sendable {
    enum Count: Sendable {
        case one, optional, any, several
    }

    /// As it stands in the usage, in capitals.
    let name: String
    let count: Count
    /// One line of help.
    let help: String

    init(_ name: String, _ help: String, _ count: Count = .one) {
        self.name = name
        self.count = count
        self.help = help
    }

    /// `KEY`, `[KEY]`, `[KEY…]` or `KEY…`.
    var usage: String {
        switch count {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name)…]"
        case .several: "\(name)…"
        }
    }

    var isRequired: Bool {
        switch count {
        case .one, .several: true
        case .optional, .any: false
        }
    }

    var repeats: Bool {
        switch count {
        case .any, .several: true
        case .one, .optional: false
        }
    }
}
