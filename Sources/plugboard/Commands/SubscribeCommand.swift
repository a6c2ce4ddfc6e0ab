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
        options: [.json, .noInitial, .old, .noValues] + Option.asking + [.count] + Option.connection,
        details: """
            Stays open until Ctrl-C, or until the broker stops (status 69). On a terminal each event is \
            a readable line; when piped, or with --json, it is the broker's own JSON line.

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
        let connection = try Connection.open(invocation)
        let request = RequestLine("subscribe")
            .adding("keys", strings: invocation.arguments)
            .adding("initial", !invocation.has(.noInitial), unless: true)
            .adding("old", invocation.has(.old), unless: false)
            .adding("values", !invocation.has(.noValues), unless: true)
        _ = try connection.accepted(try SubscribeOptions.added(to: request, invocation))
        try connection.watchOutput()
        var view = EventView(console: console, asJSON: invocation.has(.json))
        var left = invocation.integer(.count) ?? .max
        do {
            while left > 0 {
                if !connection.hasLine { try view.flush() }
                guard let line = try connection.nextLine(milliseconds: -1) else { continue }
                if try view.show(line) { left -= 1 }
            }
        } catch {
            try view.flush()
            throw error
        }
        try view.flush()
    }
}
