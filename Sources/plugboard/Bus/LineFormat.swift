// The lines that `subscribe --format` prints: a text with names in braces, for `while read key value`.

import PlugboardWire

extension CommandOption {
    static let format = CommandOption(
        "format",
        "TEXT",
        "a line for each event, such as '{key} {value}'; also {event}, {by}, {revision}, {cause}, {when}"
    )
}

/// A text in which names in braces stand for parts of an event.
struct LineFormat {
    /// What a name stands for.
    private enum Name: String, CaseIterable {
        case key, value, event, by, revision, cause, when
    }

    private enum Piece {
        case text(String)
        case name(Name)
    }

    private var pieces: [Piece] = []
    /// Whether it says when an event was written.
    private(set) var isTimed = false

    /// Throws a usage error for a name that there isn't. `{{` is a brace.
    init(_ text: String) throws(CommandError) {
        var rest = text[...]
        while let brace = rest.firstIndex(of: "{") {
            pieces.append(.text(String(rest[..<brace])))
            rest = rest[brace...].dropFirst()
            if rest.first == "{" {
                pieces.append(.text("{"))
                rest = rest.dropFirst()
                continue
            }
            let word = String(rest.prefix { $0 != "}" })
            guard word.count < rest.count else {
                throw .usage("--format has a { without }: {\(word)", hint: "{{ is a brace")
            }
            guard let name = Name(rawValue: word) else {
                let names = Name.allCases.map(\.rawValue)
                let hint = Suggestion.hint(for: word, among: names)
                let known = names.map { "{\($0)}" }.joined(separator: ", ")
                throw .usage("--format has {\(word)}, and knows \(known)", hint: hint ?? "{{ is a brace")
            }
            pieces.append(.name(name))
            if name == .when { isTimed = true }
            rest = rest.dropFirst(word.count + 1)
        }
        pieces.append(.text(String(rest)))
    }

    /// The text for an event. `value` is as it is to be printed; nothing for a key that is gone.
    func text(_ event: String, _ line: BrokerLine, value: [UInt8]) -> [UInt8] {
        pieces.reduce(into: []) { bytes, piece in
            switch piece {
            case .text(let text): bytes += Array(text.utf8)
            case .name(.value): bytes += value
            case .name(.event): bytes += Array(event.utf8)
            case .name(let name):
                let member = line[name.rawValue]
                bytes += member?.string.map { Array($0.utf8) } ?? member.map { Array($0.bytes) } ?? []
            }
        }
    }
}
