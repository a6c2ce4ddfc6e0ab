// The command line that a program declares. Its help and its parser derive from this declaration. The
// commands, the bench and the plugins use it.

/// The options and arguments of a program.
public struct CommandSyntax: Sendable {
    /// The words before the arguments, such as `plugboard emit`.
    public let call: String
    /// One line in lower case, without a full stop.
    public let summary: String
    /// The arguments that are not options, in order.
    public let parameters: [CommandParameter]
    /// The forms of the command line without `call`. Only needed if the parameters don't show them.
    public let forms: [String]
    /// The options, without `--help`, which every program has.
    public let options: [CommandOption]
    /// The program that follows `--`; nil if the words after `--` are arguments like others.
    public let command: TrailingCommand?
    /// Paragraphs for the help. A line that begins with two spaces isn't wrapped.
    public let details: String
    /// Command lines without `plugboard` at the beginning.
    public let examples: [String]

    public init(
        call: String,
        summary: String,
        parameters: [CommandParameter] = [],
        forms: [String] = [],
        options: [CommandOption],
        command: TrailingCommand? = nil,
        details: String = "",
        examples: [String] = []
    ) {
        self.call = call
        self.summary = summary
        self.parameters = parameters
        self.forms = forms
        self.options = options
        self.command = command
        self.details = details
        self.examples = examples
    }

    /// The last word of `call`.
    public var name: String { call.split(separator: " ").last.map(String.init) ?? call }

    /// `plugboard emit KEY VALUE… [OPTIONS]`. If there are forms, each of them.
    public func usage(separator: String = " or ") -> String {
        let plain = parameters.map(\.usage).joined(separator: " ")
        var lines = (forms.isEmpty ? [plain] : forms).map {
            [call, $0, "[OPTIONS]"].filter { !$0.isEmpty }.joined(separator: " ")
        }
        if let command {
            let option = command.option.map { "--\($0.name) " } ?? ""
            let last = "\(call) \(plain) [OPTIONS] \(option)-- \(command.parameter.usage)"
            lines = command.option == nil ? [last] : lines + [last]
        }
        return lines.joined(separator: separator)
    }

    /// What `--help` prints.
    public var help: String {
        var lines = ["\(name): \(summary)", "", "Usage: \(usage(separator: "\n       "))"]
        if !details.isEmpty {
            lines +=
                [""]
                + details.split(separator: "\n", omittingEmptySubsequences: false).flatMap {
                    $0.isEmpty || $0.hasPrefix("  ") ? [String($0)] : TextLayout.wrapped(String($0))
                }
        }
        let named = parameters + (command.map { [$0.parameter] } ?? [])
        lines += Self.table("Arguments", named.map { ($0.name, $0.help) })
        lines += Self.table("Options", (options + [.help]).map { ($0.listed, $0.help) })
        if !examples.isEmpty {
            lines +=
                ["", examples.count == 1 ? "Example" : "Examples"] + examples.map { "  plugboard \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func table(_ title: String, _ rows: [(String, String)]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let widest = rows.map(\.0.count).max() ?? 0
        return ["", title]
            + rows.flatMap { name, help in
                let lines = TextLayout.wrapped(help, indent: widest + 4)
                return ["  \(TextLayout.padded(name, widest))\(lines[0].dropFirst(widest + 2))"]
                    + lines.dropFirst()
            }
    }
}

/// Text in columns, and in lines of limited width.
public enum TextLayout {
    /// Breaks a text into lines of at most `width` characters. Each line begins with `indent` spaces, and
    /// those after the first with `hanging` more. There is always at least one line.
    public static func wrapped(_ text: String, indent: Int = 0, hanging: Int = 0, width: Int = 80) -> [String]
    {
        var lines: [String] = []
        var line = String(repeating: " ", count: indent)
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = String(repeating: " ", count: indent + hanging)
                isEmpty = true
            }
            line += isEmpty ? String(word) : " " + word
            isEmpty = false
        }
        return lines + [line]
    }

    /// A whole number with its thousands separated: `1,234,567`.
    public static func grouped(_ number: Int) -> String {
        var text = ""
        for (place, digit) in String(number).reversed().enumerated() {
            if place > 0, place % 3 == 0, digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    public static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
