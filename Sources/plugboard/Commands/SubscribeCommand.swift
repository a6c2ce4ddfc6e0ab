// `subscribe`: prints the events of keys until it is stopped.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let noInitial = CommandOption(flag: "no-initial", "leave out the current values at the start")
    static let old = CommandOption(flag: "old", "also show the value before each change")
    static let noValues = CommandOption(flag: "no-values", "show only which keys change")
    static let count = CommandOption("count", "N", "end after N events", .integer(1...Int(Limits.integerMax)))
}

extension Command {
    static let subscribe = Command(
        name: "subscribe",
        group: .read,
        summary: "print the values of the keys that match, then every change",
        parameters: [
            CommandParameter("PATTERN", "keys or patterns: * is one token, a last ** any number", .several)
        ],
        options: [.json, .noInitial, .old, .noValues] + CommandOption.asking + [.count]
            + CommandOption.observing,
        details: """
            Runs until Ctrl-C. On a terminal each event is a readable line. When piped, or with --json, it \
            is the broker's own JSON line.

            When the broker goes, the command says so on standard error, waits for it, and continues where \
            it was: it prints once what was written meanwhile. If the broker no longer knows that (because \
            it kept nothing, for example), the command prints a line of its own, {"event":"gap",…}. Then \
            come the current values as at the start, and a delete (with --where a leave) for each key that \
            is gone.

            With --where, a leave shows that a value no longer matches. If several changes of a key were \
            folded into one line, as with --every, the line says how many.
            """,
        examples: [
            "subscribe 'cart.**'", "subscribe '**' --no-initial --old",
            #"subscribe 'catalog.*' --where '{"/price":{"<":100}}' --fields /price"#,
            "subscribe '**' --every 0.5", "subscribe screen --count 1 | jq .value",
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let request = ObjectText(op: "subscribe")
            .adding("keys", strings: invocation.arguments)
            .adding("initial", !invocation.has(.noInitial), unless: true)
            .adding("old", invocation.has(.old), unless: false)
            .adding("values", !invocation.has(.noValues), unless: true)
        let standing = StandingRequest(
            try SubscribeFields.added(to: request, invocation).checked(),
            .subscription(hasInitial: !invocation.has(.noInitial)),
            isFiltered: invocation.has(.condition)
        )
        let observation = try Observation(invocation, console)
        try observation.ask(standing)
        try observation.connection.watchOutput()
        var view = EventView(console: console, asJSON: invocation.has(.json))
        var left = invocation.integer(.count) ?? .max
        do {
            while left > 0 {
                if !observation.hasLine { try view.flush() }
                guard let line = try observation.nextLine(milliseconds: -1) else { continue }
                if try view.show(line) { left -= 1 }
            }
        } catch {
            try view.flush()
            throw error
        }
        try view.flush()
    }
}
