// Parses a program's words by its declaration. `--name VALUE` and `--name=VALUE` are the same. Letters may
// stand together, and before a value: `-rw`, `-n5`. `--` ends the options, or begins the words of another
// program. `-` and negative numbers are arguments, because they are a file's name and a value. Only files'
// names and another program's words may have bytes that aren't UTF-8.

import PlugboardMemory

/// A parsed command line. Each option's value was checked, and the arguments were counted.
public struct Invocation: Sendable {
    public let syntax: CommandSyntax
    /// The words that aren't options, in order.
    public private(set) var arguments: [String]
    /// The program after `--`, with its arguments; empty if there is none.
    public private(set) var command: [String] = []
    private var values: [String: String] = [:]

    /// Takes all words as arguments.
    public init(_ syntax: CommandSyntax, unread words: [String]) {
        self.syntax = syntax
        arguments = words
    }

    public init(_ syntax: CommandSyntax, parsing words: [String]) throws(CommandMistake) {
        self.init(syntax, unread: [])
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                if takesCommand {
                    command = Array(rest)
                } else {
                    try refuseProgram(rest.first)
                    arguments += rest
                }
                break
            }
            let options = syntax.options + [.help]
            guard Self.isOption(word, options) else {
                arguments.append(word)
                continue
            }
            for spelled in Self.spelledOut(word, options) { try take(spelled, &rest, options) }
        }
        guard !has(.help) else { return }
        try count()
        try readArguments()
        if takesCommand, command.isEmpty { throw .missing("-- \(syntax.command?.parameter.name ?? "")") }
    }

    /// Whether an option was given.
    public func has(_ option: CommandOption) -> Bool { values[option.name] != nil }

    /// The option's value as written; nil if the option wasn't given.
    public func text(_ option: CommandOption) -> String? { values[option.name] }

    public func integer(_ option: CommandOption) -> UInt64? {
        text(option).flatMap { Int($0) }.flatMap(UInt64.init(exactly:))
    }

    public func seconds(_ option: CommandOption) -> Double? { text(option).flatMap(CommandOption.seconds) }

    /// The argument at an index; nil if it was left out.
    public func argument(_ index: Int) -> String? {
        arguments.indices.contains(index) ? arguments[index] : nil
    }

    /// Whether what follows `--` is a program.
    private var takesCommand: Bool {
        guard let command = syntax.command else { return false }
        return command.option.map(has) ?? true
    }

    /// Refuses the program for which its option is missing. Otherwise it would be one more argument, in silence.
    private func refuseProgram(_ word: String?) throws(CommandMistake) {
        guard let option = syntax.command?.option, let word, !word.hasPrefix("-"), !arguments.isEmpty,
            !has(.help)
        else { return }
        let parameter = syntax.parameters.last?.name ?? "argument"
        throw .value(
            "\"\(word)\" after -- is one more \(parameter), because there is no --\(option.name)",
            hint: "to run it: --\(option.name) -- \(word); if it is a \(parameter): leave -- out"
        )
    }

    private static func isOption(_ word: String, _ options: [CommandOption]) -> Bool {
        let bytes = Array(word.utf8)
        guard bytes.count > 1, bytes[0] == UInt8(ascii: "-") else { return false }
        return !(0x30...0x39).contains(bytes[1]) || options.contains { $0.isSpelled(word) }
    }

    /// `-rn5` as `--raw`, `--count=5`. A word with a letter that no option has stays as it is.
    private static func spelledOut(_ word: String, _ options: [CommandOption]) -> [String] {
        // `-json` is a mistake for `--json`, not `-j` and `-s`.
        if word.hasPrefix("--") || options.contains(where: { "-" + $0.name == word }) { return [word] }
        var found: [String] = []
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = options.first(where: { $0.short == letter }) else { return [word] }
            let isLast = letters.isEmpty || !option.takesValue
            found.append(isLast ? "--\(option.name)" : "--\(option.name)=\(letters)")
            if !isLast { break }
        }
        return found
    }

    private mutating func take(_ word: String, _ rest: inout ArraySlice<String>, _ options: [CommandOption])
        throws(CommandMistake)
    {
        let (option, value) = try Self.read(word, &rest, options)
        guard let before = values.updateValue(value, forKey: option.name) else { return }
        guard option.repeats else { throw .value("--\(option.name) stands twice") }
        values[option.name] = "\(before),\(value)"
    }

    private static func read(
        _ word: String, _ rest: inout ArraySlice<String>, _ options: [CommandOption]
    ) throws(CommandMistake) -> (CommandOption, String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let spelling = String(parts[0])
        guard SystemText.plain(spelling) != nil else { throw .notUTF8(spelling) }
        guard let option = options.first(where: { "--" + $0.name == spelling }) else {
            let near = Suggestion.hint(for: spelling, among: options.map { "--" + $0.name })
            throw .unknownOption(spelling, hint: near)
        }
        guard option.takesValue else {
            guard parts.count == 1 else { throw .value("--\(option.name) takes no value") }
            return (option, "")
        }
        guard let given = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
            throw .value("--\(option.name) needs a value: \(option.usage)")
        }
        guard let value = option.isPath ? given : SystemText.plain(given) else { throw .notUTF8(given) }
        if let fault = option.fault(of: value) {
            throw .value("--\(option.name) \(fault); it was \"\(given)\"", hint: near(value, option))
        }
        return (option, value)
    }

    private static func near(_ value: String, _ option: CommandOption) -> String? {
        guard case .choice(let words) = option.kind else { return nil }
        return Suggestion.hint(for: value, among: words)
    }

    private func count() throws(CommandMistake) {
        let parameters = syntax.parameters
        if arguments.count < parameters.count(where: \.isRequired) {
            throw .missing(parameters[arguments.count].name)
        }
        if parameters.last?.repeats == true || arguments.count <= parameters.count { return }
        throw .superfluous(arguments[parameters.count])
    }
}

extension Invocation {
    /// Takes each argument that is no file's name as it was written. Throws if it has bytes that aren't UTF-8.
    private mutating func readArguments() throws(CommandMistake) {
        for (index, argument) in arguments.enumerated() where !SystemText.isUTF8(argument) {
            let parameter =
                syntax.parameters.indices.contains(index) ? syntax.parameters[index] : syntax.parameters.last
            if parameter?.isPath == true { continue }
            guard let plain = SystemText.plain(argument) else { throw .notUTF8(argument) }
            arguments[index] = plain
        }
    }
}

/// What is wrong with a command line.
public enum CommandMistake: Error, Equatable {
    case unknownOption(String, hint: String?)
    /// The name of the parameter that has no argument.
    case missing(String)
    case superfluous(String)
    /// What is wrong with an option or its value.
    case value(String, hint: String? = nil)

    /// A word that must be a text has bytes that aren't UTF-8.
    static func notUTF8(_ word: String) -> CommandMistake {
        .value("an argument is not UTF-8: $'\(SystemText.shown(word))'")
    }
}

extension CommandSyntax {
    /// A message about a mistake, and a hint, for the person who made it.
    public func words(for mistake: CommandMistake) -> (message: String, hint: String?) {
        switch mistake {
        case .unknownOption(let option, let hint):
            ("\(name) has no option \"\(option)\"", hint ?? "try: plugboard help \(name)")
        case .missing(let parameter): ("\(parameter) is missing", "usage: \(usage())")
        case .superfluous(let argument):
            ("\"\(argument)\" is one argument too many", "usage: \(usage())")
        case .value(let message, let hint): (message, hint)
        }
    }
}
