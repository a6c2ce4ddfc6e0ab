// `help` and `limits`: print the program's tables of commands and limits.

import PlugboardJournal
import PlugboardWire

extension Command {
    static let help = Command(
        name: "help",
        group: .use,
        summary: "list the commands, or explain one",
        parameters: [CommandParameter("COMMAND", "one of the commands", .optional)],
        examples: ["help publish"],
        run: { invocation, console in
            guard let name = invocation.argument(0) else {
                return try console.output.text(HelpText.overview())
            }
            guard let command = CommandTable.command(named: name) else {
                throw HelpText.unknownCommand(name)
            }
            if command.takesWordsAsTheyAre { return try command.pass(["--help"], console) }
            try console.output.text(command.syntax.help)
        }
    )

    static let limits = Command(
        name: "limits",
        group: .make,
        summary: "print the limits of the protocol",
        options: [.json],
        details: """
            A broker of this version announces the same limits in its greeting.

            A journal takes up at most three times what the bus holds, the history,
            \(mebibytes(JournalLimits.promisedBytes)) and the largest record; on a disk with much free room also what is
            written in \(JournalLimits.leewaySeconds) seconds: \(mebibytes(JournalLimits.leewayBytes.lowerBound)) to \(mebibytes(JournalLimits.leewayBytes.upperBound)), at most 1/\(JournalLimits.leewaysPerDisk) of what is free.
            """,
        run: { invocation, console in
            let limits = Limits.announced
            if invocation.has(.json) {
                let fields = limits.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",")
                return try console.output.line("{\(fields)}")
            }
            let widest = limits.map(\.name.count).max() ?? 0
            for limit in limits {
                try console.output.line("\(TextLayout.padded(limit.name, widest))  \(limit.value)")
            }
        }
    )

    private static func mebibytes(_ bytes: Int) -> String { "\(bytes / 1_048_576) MiB" }
}
