// Manual pages in roff's man macros, made from the table of commands. They are what `man` and `mandoc` read
// without a warning: every line of text is escaped, and none is longer than 80 characters.

import PlugboardWire

/// Makes manual pages.
enum ManualPage {
    /// The day of the last change of what all pages say.
    static let date = "2026-11-30"

    /// The page of the whole program.
    static func overview() -> String {
        var lines = header(Program.name, "a message bus for the programs of one machine")
        lines += [".SH SYNOPSIS", ".B plugboard", ".I COMMAND", "[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]"]
        lines += [".SH DESCRIPTION"]
        lines += text("A broker keeps values under keys. Programs publish values and observe them.")
        for group in Command.Group.allCases where group != .hidden {
            lines += [".SS \(escaped(group.rawValue))"]
            for command in CommandTable.visible where command.group == group {
                lines += [".TP", ".BR plugboard\\-\(escaped(command.name)) (1)"] + text(command.summary)
            }
        }
        lines += statuses() + variables()
        return finished(lines)
    }

    /// The page of one command.
    static func of(_ command: Command) -> String {
        let syntax = command.syntax
        var lines = header("\(Program.name)-\(command.name)", command.summary)
        lines += [".SH SYNOPSIS"]
        for (index, form) in syntax.usage(separator: "\n").split(separator: "\n").enumerated() {
            lines += (index > 0 ? [".br"] : []) + text(String(form))
        }
        lines += [".SH DESCRIPTION"]
        lines += command.details.isEmpty ? sentence(command.summary) : paragraphs(command.details)
        lines += list("ARGUMENTS", command.parameters.map { ("\\fI\(escaped($0.name))\\fR", $0.help) })
        lines += list("OPTIONS", (command.options + [.help]).map { (usage(of: $0), $0.help) })
        lines += statuses()
        if !command.examples.isEmpty {
            lines += [".SH EXAMPLES", ".nf"] + command.examples.map { literal("plugboard " + $0) } + [".fi"]
        }
        lines += [".SH SEE ALSO", ".BR plugboard (1)"]
        return finished(lines)
    }

    private static func header(_ name: String, _ summary: String) -> [String] {
        [
            ".TH \(name.uppercased()) 1 \(date) \"plugboard \(ProtocolVersion.software)\"", ".SH NAME",
            "\(escaped(name)) \\-",
        ] + text(summary)
    }

    private static func finished(_ lines: [String]) -> String {
        lines.joined(separator: "\n") + "\n"
    }

    private static func usage(of option: CommandOption) -> String {
        let letter = option.short.map { "\\fB\(escaped("-\($0)"))\\fR, " } ?? ""
        let name = "\(letter)\\fB\(escaped("--" + option.name))\\fR"
        return option.takesValue ? "\(name) \\fI\(escaped(option.placeholder))\\fR" : name
    }

    private static func list(_ title: String, _ rows: [(name: String, help: String)]) -> [String] {
        rows.isEmpty ? [] : [".SH \(title)"] + rows.flatMap { [".TP", $0.name] + text($0.help) }
    }

    private static func statuses() -> [String] {
        list("EXIT STATUS", ExitStatus.meanings.map { ("\\fB\($0)\\fR", $1) })
    }

    private static func variables() -> [String] {
        let rows = [
            ("PLUGBOARD_SOCKET", "the broker's socket, if there is no --socket"),
            ("PLUGBOARD_PEER", "another user whose broker is accepted, if there is no --peer"),
            (TimeoutVariable.name, "how many seconds to wait for an answer, if there is no --timeout"),
            (CauseVariable.name, "the revision that caused a write, if there is no --cause"),
            ("PLUGBOARD_NAME", "the name on the bus, if there is no --name"),
            ("NO_COLOR", "if it isn't empty, there are no colours"),
        ]
        return list("ENVIRONMENT", rows.map { ("\\fB\(escaped($0.0))\\fR", $0.1) })
    }

    /// Paragraphs; indented lines stay as they are.
    private static func paragraphs(_ details: String) -> [String] {
        var lines: [String] = []
        var isLiteral = false
        for line in details.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            guard !line.isEmpty else { continue }
            if line.hasPrefix("  ") != isLiteral {
                isLiteral.toggle()
                lines += isLiteral ? [".PP", ".nf"] : [".fi"]
            }
            lines += isLiteral ? [literal(line)] : (lines.isEmpty ? [] : [".PP"]) + text(line)
        }
        return isLiteral ? lines + [".fi"] : lines
    }

    private static func sentence(_ summary: String) -> [String] {
        text(summary.prefix(1).uppercased() + summary.dropFirst() + ".")
    }

    /// A line that is shown as it is.
    private static func literal(_ line: String) -> String {
        let text = escaped(line)
        return text.hasPrefix(" ") || text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }

    /// Text that is filled into lines. A new sentence begins a new line, as roff wants it.
    private static func text(_ text: String) -> [String] {
        let words = text.split(separator: " ").map(String.init)
        var sentences = [[String]]()
        var sentence = [String]()
        for (index, word) in words.enumerated() {
            sentence.append(word)
            let ends = word.hasSuffix(".") || word.hasSuffix("?") || word.hasSuffix(":)")
            if ends, index + 1 < words.count {
                sentences.append(sentence)
                sentence = []
            }
        }
        return (sentences + [sentence]).filter { !$0.isEmpty }.flatMap { words in
            TextLayout.wrapped(words.joined(separator: " "), width: 70).map { line in
                let text = escaped(line)
                return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
            }
        }
    }

    /// Text without meaning for roff: minus signs that can be copied, and plain quotes.
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "…": result += "..."
            case "→": result += "\\(->"
            case "←": result += "\\(<-"
            case "↑": result += "\\(ua"
            case "↓": result += "\\(da"
            case "µ": result += "\\(mc"
            default: result.append(character)
            }
        }
    }
}
