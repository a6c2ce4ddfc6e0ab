// `help` and `limits`: print the program's tables of commands and limits.

import PlugboardWire

extension Command {
    static let help = Command(
        name: "help",
        group: .about,
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
        group: .about,
        summary: "print the limits of the protocol",
        options: [.json],
        details: "A broker of this version announces the same limits in its greeting.",
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
}
