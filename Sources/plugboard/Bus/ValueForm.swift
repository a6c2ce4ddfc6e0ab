// How a command prints values: as JSON or as text, whole or one part of each. `get`, `wait`, `subscribe` and
// `call` share the options.

import PlugboardMemory
import PlugboardWire

extension CommandOption {
    static let raw = CommandOption(
        flag: "raw", short: "r", "only values, and strings without quotes and escapes"
    )
    static let field = CommandOption(
        "field", short: "f", "POINTER", "only this part of each value: a JSON Pointer, such as /price"
    )

    static let null = CommandOption(
        flag: "null", short: "0", "with --raw: a NUL byte after each value, for xargs -0, and no line feed"
    )

    /// The options for the form of printed values.
    static let forms: [CommandOption] = [.raw, .field]
}

/// The form in which values are printed.
struct ValueForm {
    let isRaw: Bool
    /// The lines of `--format`.
    let format: LineFormat?
    private let field: JSONPart?
    /// What ends each value.
    private let end: UInt8

    /// Throws a usage error if the options contradict each other.
    init(_ invocation: Invocation) throws(CommandError) {
        isRaw = invocation.has(.raw)
        field = try invocation.text(.field).map { pointer throws(CommandError) in
            try JSONPart(pointer, option: .field)
        }
        format = try invocation.text(.format).map { text throws(CommandError) in try LineFormat(text) }
        end = invocation.has(.null) ? 0 : 0x0A
        guard isPlain || !invocation.has(.json) else {
            throw .usage("--json prints whole lines, and --\(option.name) only values")
        }
        guard isRaw || format != nil || !invocation.has(.null) else {
            throw .usage("--null is for --raw")
        }
    }

    /// Whether values are printed as they are.
    var isPlain: Bool { !isRaw && field == nil && format == nil }

    /// Why the values aren't printed as they are.
    var option: CommandOption { format != nil ? .format : isRaw ? .raw : .field }

    /// The pointer of `--field`.
    var pointer: String? { field?.pointer }

    /// What to print of a value; nil if it doesn't have the part.
    func part(of value: JSONValue) -> JSONValue? {
        field == nil ? value : field?.part(of: value)
    }

    /// The line for what `part` returned. On a terminal it is safe to show.
    func line(_ part: JSONValue, on stream: OutputStream) -> [UInt8] {
        guard isRaw, let text = part.string else { return stream.jsonLine(part.bytes).dropLast() + [end] }
        return Array((stream.isTerminal ? Printable.lines(text) : text).utf8) + [end]
    }

    /// The line of `--format` for an event, whose value is nil if its key is gone. Nil without the option.
    func line(_ event: String, _ line: BrokerLine, _ value: JSONValue?, on stream: OutputStream) -> [UInt8]? {
        guard let format else { return nil }
        let shown = value.map { (isRaw ? $0.string.map { Array($0.utf8) } : nil) ?? Array($0.bytes) }
        let text = format.text(event, line, value: shown ?? [])
        guard stream.isTerminal else { return text + [end] }
        return Array(Printable.lines(String(decoding: text, as: UTF8.self)).utf8) + [end]
    }

    /// The same for the value of a key. Throws if the value doesn't have the part.
    func line(_ value: JSONValue, of key: String, on stream: OutputStream) throws(CommandError) -> [UInt8] {
        guard let part = part(of: value) else {
            throw CommandError(.refused, "the value of \(key) has no part \(pointer ?? "")")
        }
        return line(part, on: stream)
    }
}

/// A part of values that a JSON Pointer (RFC 6901) names.
struct JSONPart {
    let pointer: String
    private var pointers = JSONPointerSet()

    /// Throws a usage error if the text isn't a pointer.
    init(_ pointer: String, option: CommandOption) throws(CommandError) {
        self.pointer = pointer
        let spelling = JSONText.encoded(pointer).dropFirst().dropLast()
        do throws(Refusal) {
            _ = try pointers.add(spelling.span, at: 0)
        } catch {
            let hint = error.hint.map { "hint: \($0)" }
            throw .usage("--\(option.name) \"\(SystemText.ofPlain(pointer))\": \(error.message)", hint: hint)
        }
    }

    /// Nil if the value has no such part.
    func part(of value: JSONValue) -> JSONValue? {
        let place = pointers.place(of: 0, in: value.bytes.span)
        guard !place.isEmpty else { return nil }
        let start = value.bytes.startIndex
        return JSONValue(accepted: value.bytes[(start + place.start)..<(start + place.end)])
    }
}
