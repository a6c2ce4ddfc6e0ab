// Help for a terminal, made from the table of commands: no text is written twice.

import PlugboardWire

/// The texts of `plugboard help`.
enum HelpText {
    private static let width = 80

    /// All commands, a line each.
    static func overview() -> String {
        var lines = [
            "\(Program.version): a message bus for the programs of one machine", "",
            "Usage: plugboard COMMAND [ARGUMENTS] [OPTIONS]",
        ]
        let widest = CommandTable.visible.map(\.name.count).max() ?? 0
        for group in Command.Group.allCases where group != .hidden {
            lines += ["", group.rawValue]
            lines += CommandTable.all.filter { $0.group == group }.map {
                "  \(padded($0.name, widest))  \($0.summary)"
            }
        }
        lines += ["", "Exit statuses"]
        lines += ExitStatus.allCases.map { "  \(padded("\($0.rawValue)", 2))  \($0.meaning)" }
        lines += [
            "", "See it work:       plugboard up --demo",
            "More on a command: plugboard help COMMAND",
            "By hand:           \(handLine(path: "SOCKET"))", "",
        ]
        return lines.joined(separator: "\n")
    }

    /// All of one command.
    static func text(for command: Command) -> String {
        var lines = [
            "\(command.name): \(command.summary)", "", "Usage: \(usage(of: command, separator: "\n       "))",
        ]
        if !command.details.isEmpty {
            lines +=
                [""]
                + command.details.split(separator: "\n", omittingEmptySubsequences: false).flatMap {
                    $0.isEmpty || $0.hasPrefix("  ") ? [String($0)] : wrapped(String($0), indent: 0)
                }
        }
        lines += table("Arguments", command.parameters.map { ($0.name, $0.help) })
        lines += table("Options", (command.options + [.help]).map { ($0.usage, $0.help) })
        if !command.examples.isEmpty {
            lines += ["", command.examples.count == 1 ? "Example" : "Examples"]
            lines += command.examples.map { "  plugboard \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// `plugboard emit KEY VALUE… [OPTIONS]`, or each of its forms.
    static func usage(of command: Command, separator: String = " or ") -> String {
        let plain = command.parameters.map(\.usage).joined(separator: " ")
        let forms = command.forms.isEmpty ? [plain] : command.forms
        return forms.map {
            ["plugboard", command.name, $0, "[OPTIONS]"].filter { !$0.isEmpty }.joined(separator: " ")
        }
        .joined(separator: separator)
    }

    /// What to say of a word that is no command.
    static func unknownCommand(_ word: String) -> CommandError {
        let words = CommandTable.visible.map(\.name) + ["--version"]
        let near = Suggestion.nearest(to: word, among: words)
        let hint = near.map { "did you mean \"\($0)\"?" } ?? "plugboard help lists the commands"
        return .usage("there is no command \"\(word)\"", hint: hint)
    }

    /// The line that attaches a person to a broker.
    static func handLine(path: String) -> String {
        "nc -U \(ShellWord.quoted(path))"
    }

    private static func table(_ title: String, _ rows: [(String, String)]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let widest = rows.map(\.0.count).max() ?? 0
        return ["", title]
            + rows.flatMap { name, help in
                let lines = wrapped(help, indent: widest + 4)
                return ["  \(padded(name, widest))  \(lines[0].drop { $0 == " " })"] + lines.dropFirst()
            }
    }

    /// Words in lines of at most `width` characters, each line indented; never empty.
    static func wrapped(_ text: String, indent: Int, width: Int = HelpText.width) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        return (lines + [line]).map { String(repeating: " ", count: indent) + $0 }
    }

    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

/// Words for a person to paste into a shell.
enum ShellWord {
    /// In quotes where the shell would read it otherwise.
    static func quoted(_ word: String) -> String {
        let isPlain = !word.isEmpty && word.utf8.allSatisfy(isSafe)
        return isPlain
            ? word
            : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
                + "'"
    }

    private static func isSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_./:,+@%=".utf8.contains(byte)
        }
    }
}
