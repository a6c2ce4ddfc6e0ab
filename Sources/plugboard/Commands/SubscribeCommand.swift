// `subscribe`: stays open and prints what comes.

import PlugboardPosix
import PlugboardWire

extension Option {
    static let noInitial = Option(flag: "no-initial", "leave out the values that are there at the start")
    static let old = Option(flag: "old", "show the value before each change, too")
    static let noValues = Option(flag: "no-values", "show only which keys change")
    static let count = Option("count", "N", "end after N events", .integer(1...Limits.integerMax))
}

extension Command {
    static let subscribe = Command(
        name: "subscribe",
        group: .read,
        summary: "print the values of the keys that match, then every change",
        parameters: [
            Parameter("PATTERN", "keys or patterns: * is one token, a last ** any number", .several)
        ],
        options: [.json, .noInitial, .old, .noValues] + Option.asking + [.count] + Option.observing,
        details: """
            Stays open until Ctrl-C. On a terminal each event is \
            a readable line; when piped, or with --json, it is the broker's own JSON line.

            When the broker goes, it is waited for, which standard error tells, and the subscription goes \
            on where it was: what was written meanwhile is told, once. Where the broker can't know that (it \
            kept nothing, say) there is one line of this program's own, {"event":"gap",…}, then what is there \
            as at the start, and a delete (with --where a leave) for each key that isn't any more.

            Where a value is told to match and no longer does, there is a leave. Where several changes of \
            a key were folded into one line, as with --every, it says how many.
            """,
        examples: [
            "subscribe 'cart.**'", "subscribe '**' --no-initial --old",
            #"subscribe 'catalog.*' --where '{"/price":{"<":100}}' --fields /price"#,
            "subscribe '**' --every 0.5", "subscribe screen --count 1 | jq .value",
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: Console) throws {
        let request = RequestLine("subscribe")
            .adding("keys", strings: invocation.arguments)
            .adding("initial", !invocation.has(.noInitial), unless: true)
            .adding("old", invocation.has(.old), unless: false)
            .adding("values", !invocation.has(.noValues), unless: true)
        let standing = StandingRequest(
            try SubscribeOptions.added(to: request, invocation).checked(),
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
