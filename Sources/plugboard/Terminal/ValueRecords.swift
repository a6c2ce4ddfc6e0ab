// Prints keys with their values, as `get` and `wait` do: only the value of a single key, and a line with key
// and value for each key that a pattern matches.

import PlugboardWire

/// The values of keys on their way to standard output.
struct ValueRecords {
    private static let keyColumnsMax = 40

    private enum Style {
        /// Only the value.
        case value
        /// The key and the value, for a person.
        case readable
        /// A JSON line, which `publish --from` reads.
        case record
        /// The key, and below it everything that the broker says of it.
        case long
    }

    /// How many columns the keys take for a person.
    private var widest = 0
    private let style: Style
    private let form: ValueForm
    private let stream: OutputStream
    private var pending: PendingOutput

    /// `isSingle` says that only one key was asked for, so that its name isn't printed.
    init(_ invocation: Invocation, _ console: CommandConsole, _ form: ValueForm, isSingle: Bool) {
        self.form = form
        stream = console.output
        pending = PendingOutput(stream)
        if invocation.syntax.options.contains(where: { $0.name == CommandOption.long.name }),
            invocation.has(.long)
        {
            style = .long
        } else if !form.isPlain {
            style = .value
        } else if invocation.has(.json) {
            style = .record
        } else {
            style = isSingle ? .value : stream.isTerminal ? .readable : .record
        }
    }

    /// Makes room for the keys.
    mutating func align(_ keys: some Sequence<String>) {
        widest = min(Self.keyColumnsMax, keys.map(\.count).max() ?? 0)
    }

    /// Prints an `update`, or the reply to a `get`. Returns false if the value doesn't have the part that is
    /// asked for.
    @discardableResult
    mutating func add(_ key: String, _ line: BrokerLine) throws -> Bool {
        guard let value = line["value"] else { return false }
        switch style {
        case .record: try pending.add(json: Self.record(line))
        case .long: for text in Self.long(key, line, stream.paint) { try pending.add(line: text) }
        case .readable:
            let name = TextLayout.padded(Printable.text(key), widest)
            try pending.add(line: "\(stream.paint.bold(name))  \(Printable.json(value.bytes))")
        case .value:
            guard let part = form.part(of: value) else { return false }
            try pending.add(bytes: form.line(part, on: stream))
        }
        return true
    }

    /// Writes everything that was added.
    mutating func flush() throws {
        try pending.flush()
    }

    private static func long(_ key: String, _ line: BrokerLine, _ paint: Paint) -> [String] {
        let gone = line["live"]?.bool == false ? ", who is gone" : ""
        let reason = line["reason"]?.string.map { " (\($0))" } ?? ""
        let facts: [(String, String?)] = [
            ("value", line["value"].map { Printable.json($0.bytes) }),
            ("revision", line["revision"]?.text),
            ("by", "\(WriterText.of(line["by"], line["origin"]))\(gone)\(Printable.text(reason))"),
            ("written", line["when"]?.string.map { Printable.text($0) }),
            ("cause", line["cause"]?.text),
            ("ends", ValueEnd(line.object)?.text ?? "not by itself"),
        ]
        return [paint.bold(Printable.text(key))]
            + facts.compactMap { name, text in text.map { "  \(TextLayout.padded(name, 8))  \($0)" } }
    }

    /// `{"key":…,"revision":…,"value":…,"by":…}`.
    private static func record(_ line: BrokerLine) -> [UInt8] {
        ["key", "revision", "value", "by", "origin", "cause", "while", "ttl"].reduce(ObjectWriter()) {
            $0.adding($1, json: line[$1]?.bytes)
        }
        .bytes
    }
}
