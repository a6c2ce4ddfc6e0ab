// `man`: prints the manual page of the program or of one command, made from the table.

import PlugboardWire

extension Command {
    static let man = Command(
        name: "man",
        group: .use,
        summary: "print the manual page of plugboard or of a command, as roff",
        parameters: [CommandParameter("COMMAND", "one of the commands", .optional)],
        details: "Read it with man -l, or put it into a folder man1 of your MANPATH.",
        examples: ["man subscribe > plugboard-subscribe.1", "man | man -l -"],
        run: { invocation, console in
            var page = ManualPage.overview()
            if let name = invocation.argument(0) {
                guard let command = CommandTable.visible.first(where: { $0.name == name }) else {
                    throw HelpText.unknownCommand(name)
                }
                page = ManualPage.of(command)
            }
            try console.output.text(page)
        }
    )
}
