// The declaration of a command. Its help, its parsing and its "did you mean" are made from this, so a new
// command is one file and one row in the table.

import PlugboardWire

/// One word after `plugboard`.
struct Command: Sendable {
    /// The part of the overview that lists a command.
    enum Group: String, CaseIterable, Sendable {
        case use = "Use it"
        case watch = "Watch it"
        case operate = "Operate it"
        case make = "Make plugins"
        /// For the program's own use. The overview leaves it out.
        case hidden = ""
    }

    let name: String
    /// Another name that it had. It still has it, but no text says so.
    var formerName: String?
    let group: Group
    /// One line, no full stop, lower case: for the overview.
    let summary: String
    /// The arguments that are not options, in order.
    var parameters: [CommandParameter] = []
    /// The forms of the command line, without `plugboard NAME`, if the parameters alone don't show
    /// them.
    var forms: [String] = []
    /// Its options, besides `--help`, which every command has.
    var options: [CommandOption] = []
    /// The program that follows `--`, if it runs one.
    var command: TrailingCommand?
    /// The paragraphs of its help.
    var details: String = ""
    /// Command lines without the leading `plugboard`.
    var examples: [String] = []
    /// Whether another program reads all its words, including `--help`.
    var takesWordsAsTheyAre = false
    let run: @Sendable (Invocation, CommandConsole) throws -> Void

    var syntax: CommandSyntax {
        CommandSyntax(
            call: "\(Program.name) \(name)",
            summary: summary,
            parameters: parameters,
            forms: forms,
            options: options,
            command: command,
            details: details,
            examples: examples
        )
    }

    /// Parses its command line, or throws the mistake in it.
    func parse(_ words: [String]) throws(CommandError) -> Invocation {
        let syntax = syntax
        do throws(CommandMistake) {
            return try Invocation(syntax, parsing: words)
        } catch {
            let (message, hint) = syntax.words(for: error)
            throw .usage(message, hint: hint)
        }
    }

    /// An error as its user understands it. A broker's hint names fields of a request; those for which this
    /// command has an option get the option's name. Suggestions stay: they have the user's own words.
    func spelled(_ error: CommandError) -> CommandError {
        let hints = error.hints.map { hint in
            guard hint.hasPrefix("hint: "), !hint.contains("did you mean") else { return hint }
            return options.reduce(hint) { $1.named(inPlaceOfFieldIn: $0) }
        }
        return CommandError(error.status, error.message, hints: hints)
    }

    /// Runs it with unparsed words.
    func pass(_ words: [String], _ console: CommandConsole) throws {
        try run(Invocation(syntax, unread: words), console)
    }
}

extension CommandOption {
    private static let fields = Set(Field.allCases.map { "\($0.name)" })

    /// The hint with `--spare` in place of `"spare":true` and `"spare"`, if this option is like a field.
    fileprivate func named(inPlaceOfFieldIn hint: String) -> String {
        guard Self.fields.contains(name) else { return hint }
        let field = "\"\(name)\""
        let parts = hint.replacing("\(field):true", with: "--\(name)").split(
            separator: field, omittingEmptySubsequences: false
        )
        return parts.dropFirst().reduce(String(parts[0])) { hint, rest in
            hint + (rest.hasPrefix(":") ? field : "--\(name)") + rest
        }
    }
}
