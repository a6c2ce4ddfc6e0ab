// What may stand at the cursor of a command line, by the table of commands. The shells ask this program, so a
// new command or option is completed as soon as it is in the table.

import PlugboardWire

/// One word that fits.
struct Candidate: Equatable {
    let word: String
    /// A few words about it; empty for keys.
    var help = ""
}

/// What fits at the cursor.
enum Completion: Equatable {
    case words([Candidate])
    /// The keys with values, of the bus that the earlier words name.
    case keys
    /// The names of the plugins of `up`.
    case plugins
    /// What can be called.
    case services
    /// The numbers of the clients.
    case clients
    /// The subscriptions of a client.
    case subscriptions(client: String)
    /// The names of the plugins in the folder that the earlier words name, or in the usual one.
    case startable
    case files

    /// What fits after these words, the first of which stands after `plugboard`.
    init(after words: [String], current: String) {
        guard let first = words.first else {
            self = .words(Self.commands + Self.general)
            return
        }
        guard let command = CommandTable.command(named: first), command.group != .hidden else {
            self = .words([])
            return
        }
        self = Self.of(command, words.dropFirst(), current)
    }

    /// Those of these words that begin with `prefix`.
    static func matching(_ candidates: [Candidate], _ prefix: String) -> [Candidate] {
        candidates.filter { $0.word.utf8.starts(with: prefix.utf8) }
    }

    /// The value that an option has in these words.
    static func value(of option: CommandOption, in words: [String]) -> String? {
        if let place = words.firstIndex(where: option.isSpelled), place + 1 < words.count {
            return words[place + 1]
        }
        let spelling = "--\(option.name)="
        return words.first { $0.hasPrefix(spelling) }.map { String($0.dropFirst(spelling.count)) }
    }

    private static var commands: [Candidate] {
        CommandTable.visible.map { Candidate(word: $0.name, help: $0.summary) }
    }

    private static let general = [
        Candidate(word: "--help", help: "list the commands"), Candidate(word: "--version"),
    ]

    private static func of(_ command: Command, _ words: ArraySlice<String>, _ current: String) -> Completion {
        let options = command.options + [.help]
        if !words.contains("--") {
            if let option = option(before: current, words, options) { return values(of: option, prefix: "") }
            if current.hasPrefix("--"), let end = current.firstIndex(of: "=") {
                let spelling = String(current[..<end])
                guard let option = options.first(where: { "--" + $0.name == spelling }) else {
                    return .words([])
                }
                return values(of: option, prefix: spelling + "=")
            }
            if current.hasPrefix("-") { return .words(unused(options, words)) }
        }
        guard !command.takesWordsAsTheyAre else { return .files }
        if command.command != nil, words.contains("--") { return .files }
        return argument(after: arguments(words, options), of: command)
    }

    /// The option whose value stands at the cursor.
    private static func option(
        before current: String, _ words: ArraySlice<String>, _ options: [CommandOption]
    ) -> CommandOption? {
        guard let last = words.last else { return nil }
        return options.first { $0.takesValue && $0.isSpelled(last) }
    }

    private static func unused(_ options: [CommandOption], _ words: ArraySlice<String>) -> [Candidate] {
        options.filter { option in
            option.repeats || !words.contains { option.isSpelled($0) || $0.hasPrefix("--\(option.name)=") }
        }
        .map { Candidate(word: "--" + $0.name, help: $0.help) }
    }

    private static func values(of option: CommandOption, prefix: String) -> Completion {
        if case .choice(let words) = option.kind { return .words(words.map { Candidate(word: prefix + $0) }) }
        if option.isPath { return .files }
        switch option.placeholder {
        case "KEY", "PATTERN": return prefix.isEmpty ? .keys : .words([])
        default: return .words([])
        }
    }

    /// Those of these words that are arguments.
    private static func arguments(_ words: ArraySlice<String>, _ options: [CommandOption]) -> [String] {
        var found: [String] = []
        var rest = words
        while let word = rest.popFirst() {
            if word == "--" { return found + rest }
            guard word.hasPrefix("-"), word.count > 1 else {
                found.append(word)
                continue
            }
            if options.contains(where: { $0.takesValue && $0.isSpelled(word) }) { _ = rest.popFirst() }
        }
        return found
    }

    /// What may stand behind these arguments.
    private static func argument(after words: [String], of command: Command) -> Completion {
        let place = words.count
        guard let last = command.parameters.last else { return .words([]) }
        guard place < command.parameters.count || last.repeats else { return .words([]) }
        let parameter = place < command.parameters.count ? command.parameters[place] : last
        if parameter.isPath { return .files }
        switch parameter.name {
        case "KEY" where command.name == "call", "KEY" where command.name == "services": return .services
        case "KEY", "PATTERN": return .keys
        case "CLIENT": return .clients
        case "SUB": return .subscriptions(client: words.first ?? "")
        case "WRITE":
            return .words(["publish", "emit", "patch", "add", "delete"].map { Candidate(word: $0) })
        case "COMMAND" where command.name == "help" || command.name == "man": return .words(commands)
        case "COMMAND": return .files
        case "NAME" where command.name == "plugins": return .plugins
        case "PLUGIN" where command.name == "up": return .startable
        default: break
        }
        // A lower-case name is the word itself, or several.
        guard parameter.name.allSatisfy({ $0.isLowercase || "|-".contains($0) }) else { return .words([]) }
        return .words(parameter.name.split(separator: "|").map { Candidate(word: String($0)) })
    }
}
