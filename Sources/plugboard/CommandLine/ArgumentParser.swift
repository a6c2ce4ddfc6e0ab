// Reads a command's words by its declaration. `--name VALUE` and `--name=VALUE` are
// the same; `--` ends the options; `-` and negative numbers are arguments, since
// they are a file's name and a value.

import PlugboardWire

/// The parser for all commands.
enum ArgumentParser {
    static func parse(_ words: [String], for command: Command) throws(CommandError) -> Invocation {
        var values: [String: String] = [:]
        var arguments: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                arguments += rest
                break
            }
            guard isOption(word) else {
                arguments.append(word)
                continue
            }
            let (option, value) = try read(word, &rest, command)
            guard values.updateValue(value, forKey: option.name) == nil else {
                throw .usage("--\(option.name) stands twice")
            }
        }
        if values[Option.help.name] == nil { try count(arguments, command) }
        return Invocation(command: command, arguments: arguments, values: values)
    }

    private static func isOption(_ word: String) -> Bool {
        let bytes = Array(word.utf8)
        guard bytes.count > 1, bytes[0] == UInt8(ascii: "-") else { return false }
        return !(0x30...0x39).contains(bytes[1])
    }

    private static func read(
        _ word: String,
        _ rest: inout ArraySlice<String>,
        _ command: Command
    ) throws(CommandError) -> (Option, String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let spelling = word == "-h" ? "--help" : String(parts[0])
        let option = try find(spelling, command)
        guard option.takesValue else {
            guard parts.count == 1 else { throw .usage("--\(option.name) takes no value") }
            return (option, "")
        }
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
            throw .usage("--\(option.name) needs a value: \(option.usage)")
        }
        if let fault = option.fault(of: value) {
            throw .usage("--\(option.name) \(fault); it was \"\(value)\"", hint: near(value, option))
        }
        return (option, value)
    }

    private static func find(_ spelling: String, _ command: Command) throws(CommandError) -> Option {
        let known = command.options + [.help]
        if let option = known.first(where: { "--" + $0.name == spelling }) { return option }
        let near = Suggestion.nearest(to: spelling, among: known.map { "--" + $0.name })
        let hint = near.map { "did you mean \"\($0)\"?" } ?? "try: plugboard help \(command.name)"
        throw .usage("\(command.name) has no option \"\(spelling)\"", hint: hint)
    }

    private static func near(_ value: String, _ option: Option) -> String? {
        guard case .choice(let words) = option.kind else { return nil }
        return Suggestion.hint(for: value, among: words)
    }

    private static func count(_ arguments: [String], _ command: Command) throws(CommandError) {
        let required = command.parameters.filter(\.isRequired).count
        let usage = "usage: \(HelpText.usage(of: command))"
        if arguments.count < required {
            throw .usage("\(command.parameters[arguments.count].name) is missing", hint: usage)
        }
        if command.parameters.last?.repeats == true { return }
        if arguments.count > command.parameters.count {
            let extra = arguments[command.parameters.count]
            throw .usage("\"\(extra)\" is one argument too many", hint: usage)
        }
    }
}
