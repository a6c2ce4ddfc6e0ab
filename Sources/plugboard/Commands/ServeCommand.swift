// `serve`: answers the calls of a key by running a command for each.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let rawAnswers = CommandOption(
        flag: CommandOption.raw.name,
        short: CommandOption.raw.short,
        "the answer is a text, and so is a string that COMMAND gets"
    )
    static let spare = CommandOption(
        flag: "spare", "if another client serves it, wait in line and take over when that one ends"
    )
    static let readyToServe = CommandOption(
        flag: CommandOption.ready.name, "print \"ready\" when calls are answered"
    )
}

extension Command {
    static let serve = Command(
        name: "serve",
        group: .use,
        summary: "answer the calls of a key by running a command",
        parameters: [CommandParameter("KEY", "a key, or a pattern: * is one token, a last ** any number")],
        options: [.rawAnswers, .jobs, .spare, .readyToServe, .clientName] + CommandOption.observing,
        command: TrailingCommand("the program that answers a call, with its arguments"),
        details: """
            Runs COMMAND for each call. The value of the call is on its standard input; if there is none, \
            nothing. PLUGBOARD_KEY and PLUGBOARD_BY say what was called, and by whom. PLUGBOARD_CAUSE stands \
            for the call: plugboard publish names it as its cause, so why shows who called.

            What it writes to standard output is the answer: JSON, or with --raw a text, without the line \
            feed at its end. Nothing is null. A status other than 0 makes the answer an error with the \
            code "failed", and the output its message; without --raw, an output that isn't JSON is the error \
            "bad_answer". Standard error goes where that of plugboard goes.

            Without --jobs, one call is answered after the other. More than 256 calls that wait get the \
            error "busy". When a caller has waited as long as its --timeout says, it gets an error, and the \
            command of its call is ended, or isn't begun. So one that hangs doesn't hold up the calls of \
            others for long. When COMMAND ends, whatever it left running in its process group ends, too.

            With --spare, several of these may serve the same key: the first does, and the next one takes over \
            when it ends, in the order in which they came. who shows who waits.

            When the broker goes, the command waits for it and serves again. Ctrl-C takes no more \
            calls. Those that wait are begun for one more second, and then get the error "stopping": nothing was \
            done. When those that have begun are answered, the command ends. A second Ctrl-C, at least half a \
            second later, kills their commands.
            """,
        examples: ["serve time.now -- date +%s", "serve 'text.*' --raw --jobs 4 -- ./answer.sh --short"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let key = invocation.arguments[0]
        let request = try ObjectWriter(op: "serve").adding("key", string: key)
            .adding("spare", invocation.has(.spare), unless: false).checked()
        let connection = try BrokerConnection.open(invocation)
        let program = try CommandProgram(invocation, connection, isAnswer: true)
        var server = try CommandServer(key, program, connection, invocation, console)
        try server.run(request)
    }
}
