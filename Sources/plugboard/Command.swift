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

    /// Runs it with unparsed words.
    func pass(_ words: [String], _ console: CommandConsole) throws {
        try run(Invocation(syntax, unread: words), console)
    }
}
