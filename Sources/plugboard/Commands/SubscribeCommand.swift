// `subscribe`: prints the events of keys until it is stopped.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let noInitial = CommandOption(flag: "no-initial", "leave out the current values at the start")
    static let old = CommandOption(flag: "old", "also show the value before each change")
    static let noValues = CommandOption(flag: "no-values", "show only which keys change")
    static let count = CommandOption(
        "count", short: "n", "N", "end after N events", .integer(1...Int(Limits.integerMax))
    )
}

extension Command {
    static let subscribe = Command(
        name: "subscribe",
        group: .use,
        summary: "print the values of the keys that match, then every change",
        parameters: [
            CommandParameter("PATTERN", "keys or patterns: * is one token, a last ** any number", .several)
        ],
        options: [.format, .json] + CommandOption.forms + [.null, .noInitial, .old, .noValues]
            + CommandOption.asking
            + [.count, .duration, .clientName, .executing, .everyEvent, .jobs, .runLimit]
            + CommandOption.observing,
        command: TrailingCommand("the program to run for each event, with its arguments", with: .executing),
        details: """
            Runs until Ctrl-C. On a terminal each event is a readable line. When piped, or with --json, it \
            is the broker's own JSON line.

            When the broker goes, the command says so on standard error, waits for it, and continues where \
            it was: it prints once what was written meanwhile. If the broker no longer knows that (because \
            it kept nothing, for example), the command prints a line of its own, {"event":"gap",…}. Then \
            come the current values as at the start, and a delete (with --where a leave) for each key that \
            is gone.

            With --raw it prints only the values, a string without quotes, and with --field only that part \
            of each value, when it changes. A delete prints nothing then.

            --format says what to print of each event. {value} is JSON, with --raw a string without \
            quotes, and empty when the key is gone; {event} is update, emit, delete or leave; {when} is when it \
            was written (UTC). So while read -r key value gets both, also the key that is gone.

            With --exec it prints nothing, and runs COMMAND for each event. The value is on its standard \
            input (of a delete, nothing), as JSON or with --raw as text. PLUGBOARD_EVENT, PLUGBOARD_KEY, \
            PLUGBOARD_REVISION and PLUGBOARD_BY describe the event, and plugboard publish and the other \
            commands that write take their cause from PLUGBOARD_CAUSE. For one key, one command runs at a \
            time. If it falls behind, the newest event is next, and with --all each one. If a command \
            fails, that is reported, and the status is 1 at the end. One that takes longer than --limit is \
            ended, and has failed; without --limit, one that takes a minute is reported. Ctrl-C waits for \
            those that run; a second one, at least half a second later, doesn't.

            With --where, a leave shows that a value no longer matches. If several changes of a key were \
            folded into one line, as with --every, the line says how many.
            """,
        examples: [
            "subscribe 'cart.**'", "subscribe '**' --no-initial --old",
            #"subscribe 'catalog.*' --where '{"/price":{"<":100}}' --fields /price"#,
            "subscribe '**' --every 0.5", "subscribe screen --count 1 | jq .value",
            "subscribe 'cart.**' --field /total --for 60",
            "subscribe 'cart.**' --format '{key} {value}'",
            "subscribe 'people.*' --exec --raw -- ./greet.sh --loud",
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let form = try ValueForm(invocation)
        try checkForms(invocation, form)
        let request = ObjectWriter(op: "subscribe")
            .adding("keys", strings: invocation.arguments)
            .adding("initial", !invocation.has(.noInitial), unless: true)
            .adding("old", invocation.has(.old), unless: false)
            .adding("values", !invocation.has(.noValues), unless: true)
        let checked = try SubscribeFields.added(to: request, invocation).checked()
        let observation = try ResumingConnection(invocation, console)
        let standing = ResumableRequest(
            checked.timed(form.format?.isTimed == true, observation.connection),
            .subscription(hasInitial: !invocation.has(.noInitial)),
            isFiltered: invocation.has(.condition)
        )
        if invocation.has(.executing) {
            return try EventRuns.run(standing, observation, invocation, console)
        }
        try observation.connection.watchStops()
        try observation.ask(standing)
        try observation.connection.watchOutput()
        try show(observation, invocation, console, form)
    }

    /// Refuses options that have no meaning together.
    private static func checkForms(_ invocation: Invocation, _ form: ValueForm) throws(CommandError) {
        let isRun = invocation.has(.executing)
        for option in [CommandOption.everyEvent, .jobs, .runLimit] where invocation.has(option) && !isRun {
            throw .usage("--\(option.name) is for --\(CommandOption.executing.name)")
        }
        if invocation.seconds(.runLimit) == 0 {
            throw .usage("--\(CommandOption.runLimit.name) is more than 0 seconds")
        }
        if invocation.has(.everyEvent), invocation.text(.delivery) == "latest" {
            throw .usage("--\(CommandOption.everyEvent.name) needs --\(CommandOption.delivery.name) all")
        }
        let others = [CommandOption.parts, .differences, .old] + (form.format == nil ? [.noValues] : [])
        for option in others where !form.isPlain && invocation.has(option) {
            throw .usage("--\(option.name) doesn't go with --\(form.option.name)")
        }
        let printing = [CommandOption.json, .parts, .differences, .old, .format, .null]
        for option in printing where isRun && invocation.has(option) {
            throw .usage("--\(option.name) doesn't go with --\(CommandOption.executing.name)")
        }
    }

    private static func show(
        _ observation: ResumingConnection, _ invocation: Invocation, _ console: CommandConsole,
        _ form: ValueForm
    ) throws {
        var view = EventView(console: console, asJSON: invocation.has(.json), form: form)
        var left = invocation.integer(.count) ?? .max
        let deadline = invocation.seconds(.duration).map { TimeLimit(seconds: $0) }
        do {
            while left > 0, deadline?.isOver != true {
                if !observation.hasLine { try view.flush() }
                let milliseconds = deadline.map { $0.milliseconds ?? 0 } ?? -1
                guard let line = try observation.nextLine(milliseconds: milliseconds) else { continue }
                if try view.show(line) { left -= 1 }
            }
        } catch {
            try view.flush()
            throw error
        }
        try view.flush()
    }
}
