// Reads values on the command line, which are JSON as everywhere on the bus, or with `--text` a string. Text
// without quotes is the most common mistake, so the message shows the text with quotes.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let text = CommandOption(
        flag: "text", short: "t", "VALUE is a text: it needs no quotes and isn't JSON"
    )
}

/// JSON from the command line or from standard input.
enum ValueArgument {
    /// The value in these words of a command.
    static func read(_ words: [String], _ invocation: Invocation, key: String) throws -> ArraySlice<UInt8> {
        guard invocation.has(.text) else {
            return try parse(words, command: invocation.syntax.name, key: key)
        }
        return try JSONText.encoded(words == ["-"] ? inputText() : words.joined(separator: " "))[...]
    }

    /// The value in these words; for `-` it comes from standard input. Line breaks between tokens become
    /// spaces, because a request is one line.
    static func parse(_ words: [String], command: String, key: String) throws -> ArraySlice<UInt8> {
        if words == ["-"] { return try parse(input: standardInput()) }
        let text = words.joined(separator: " ")
        do throws(JSONFault) {
            return oneLine(try JSONValue(parsing: Array(text.utf8)[...]).bytes)
        } catch {
            throw CommandError(
                .usage,
                "the value is \(error.message), at byte \(error.offset)",
                hints: hints(for: text, "\(Program.spelling) \(command) \(shellWord(key))")
            )
        }
    }

    /// The error for a value that isn't JSON. For a text without quotes, it shows the command line with
    /// quotes.
    private static func hints(for text: String, _ line: String) -> [String] {
        let bytes = Array(text.utf8)
        if ValueHint.isText(bytes.span) {
            let quoted = String(decoding: JSONText.encoded(text), as: UTF8.self)
            return ["a text is in quotes: \(line) \(shellWord(quoted))"]
        }
        // A shell removes double quotes that aren't inside single quotes.
        let isStripped = !text.contains("\"") && text.contains { $0 == "{" || $0 == "[" }
        let example = "the shell keeps what is in single quotes: \(line) '{\"a\":1}'"
        return [ValueHint.of(bytes.span), isStripped ? example : nil].compactMap(\.self)
    }

    private static func shellWord(_ text: String) -> String { ShellWord.quoted(SystemText.ofPlain(text)) }

    /// Returns the key or pattern, or throws an error that says why it isn't one.
    static func key(_ text: String) throws(CommandError) -> String {
        let fault = Key.fault(Array(text.utf8).span)
        guard let fault else { return text }
        let shown = SystemText.ofPlain(text)
        if Pattern.fault(Array(text.utf8).span) == nil {
            throw .usage("\"\(shown)\" is not a key but a pattern, which stands for many keys")
        }
        throw .usage("\"\(shown)\" is not a key: \(fault.rawValue)")
    }

    /// Returns the pattern, or throws an error that says why it isn't one.
    static func pattern(_ text: String) throws(CommandError) -> String {
        let fault = Pattern.fault(Array(text.utf8).span)
        guard let fault else { return text }
        throw .usage("\"\(SystemText.ofPlain(text))\" is not a pattern: \(fault.rawValue)")
    }

    /// Reads a value from standard input. A mistake in it has another status than one in the command line.
    private static func parse(input: [UInt8]) throws -> ArraySlice<UInt8> {
        do throws(JSONFault) {
            return oneLine(try JSONValue(parsing: input[...]).bytes)
        } catch {
            let value = input.last == 0x0A ? input.dropLast() : input[...]
            let span = value.span
            let hint = ValueHint.of(span) ?? (ValueHint.isText(span) ? "a text is in quotes" : nil)
            throw CommandError(
                .refused,
                "standard input is \(error.message), at byte \(error.offset)",
                hints: hint.map { [$0] } ?? []
            )
        }
    }

    /// A request is one line, so breaks between tokens become spaces.
    static func oneLine(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        ArraySlice(bytes.map { $0 == 0x0A || $0 == 0x0D ? UInt8(ascii: " ") : $0 })
    }

    /// Standard input as a text, without the line feed that ends it.
    private static func inputText() throws -> String {
        guard let text = CommandText.string(try standardInput()) else {
            throw CommandError(.refused, "standard input is no text in UTF-8")
        }
        return text
    }

    private static func standardInput() throws -> [UInt8] {
        let limit = Limits.lineBytesMax
        guard let bytes = try StandardInput.open().contents(limit: limit) else {
            throw CommandError(.refused, "standard input is over \(limit) bytes, the limit of a line")
        }
        return bytes
    }
}
