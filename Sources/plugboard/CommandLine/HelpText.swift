// The overview of the commands. It is made from their table, so that no text is written twice.

import PlugboardMemory
import PlugboardWire

/// The texts of `plugboard help`.
enum HelpText {
    /// All commands, a line each.
    static func overview() -> String {
        var lines = [
            "\(Program.version): a message bus for the programs of one machine", "",
            "Usage: plugboard COMMAND [ARGUMENTS] [OPTIONS]",
        ]
        let widest = CommandTable.visible.map(\.name.count).max() ?? 0
        for group in Command.Group.allCases where group != .hidden {
            lines += ["", group.rawValue]
            lines += CommandTable.visible.filter { $0.group == group }.map {
                "  \(TextLayout.padded($0.name, widest))  \($0.summary)"
            }
        }
        lines += ["", "Exit statuses"]
        lines += ExitStatus.meanings.map { "  \(TextLayout.padded($0, 3))  \($1)" }
        lines += [
            "", "See it work:       plugboard up --demo",
            "More on a command: plugboard help COMMAND",
            "By hand:           \(handLine(path: "SOCKET"))", "",
        ]
        return lines.joined(separator: "\n")
    }

    /// The error for a word that is no command.
    static func unknownCommand(_ word: String) -> CommandError {
        let words = CommandTable.visible.map(\.name) + ["--version"]
        let hint = Suggestion.hint(for: word, among: words) ?? "plugboard help lists the commands"
        return .usage("there is no command \"\(word)\"", hint: hint)
    }

    /// The line with which a person can connect to a broker.
    static func handLine(path: String) -> String {
        "nc -U \(ShellWord.quoted(path))"
    }
}

/// Words that a person can paste into a shell.
enum ShellWord {
    /// The word in quotes if the shell would change it otherwise.
    static func quoted(_ word: String) -> String {
        if !word.isEmpty, word.utf8.allSatisfy(isSafe) { return word }
        guard SystemText.plain(word) != nil else {
            let escaped = word.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return SystemText.ofPlain("$'\(SystemText.shown(escaped))'")
        }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
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
