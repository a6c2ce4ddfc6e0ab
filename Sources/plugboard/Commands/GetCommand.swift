// `get`: prints one value as it is, or the values of several keys and patterns, now or at each change.

import PlugboardMemory
import PlugboardWire

extension CommandOption {
    static let watching = CommandOption(flag: "watch", short: "w", "then print each new value, until Ctrl-C")
}

extension Command {
    static let get = Command(
        name: "get",
        group: .use,
        summary: "print the value of a key, or of all keys that match a pattern",
        parameters: [
            CommandParameter("KEY", "keys or patterns: * is one token, a last ** any number", .several)
        ],
        options: [.long, .json] + CommandOption.forms + [.null, .watching, .clientName]
            + CommandOption.connection,
        details: """
            Prints the value of a key byte for byte as it was published. (On a terminal, control \
            characters are spelled out.) If the key has no value, that is an error, status 1.

            For a pattern or several keys it prints one line for each key, in the order of the keys, all \
            as they were at one revision: KEY VALUE on a terminal; when piped or with --json, JSON lines \
            with key, revision, value, by, and what ends it (ttl, while), which publish --from reads. With --raw or --field it prints \
            only the values, and leaves out those that don't have the part. If no key matches a pattern, \
            it prints nothing.

            --long shows below each key its value, its revision, who wrote it, when (UTC) and because of \
            which revision, and what ends it by itself, and when.

            --watch goes on with each new value, in the same form, until Ctrl-C. That a key is gone is \
            told on standard error.
            """,
        examples: [
            "get cart.summary", "get cart.summary --field /total", "get till.open --long",
            "get screen --raw --watch", "get 'files.*' -r0 | xargs -0 ls -l",
            "get screen 'cart.**'", "get 'catalog.**' > catalog.ndjson",
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let form = try ValueForm(invocation)
        let keys = try KeyWords(invocation.arguments)
        if invocation.has(.long) {
            guard form.isPlain, !invocation.has(.json) else {
                throw CommandError.usage("--long is text for a person, and doesn't go with the other forms")
            }
        }
        if invocation.has(.watching) { return try ValueWatch.run(keys, form, invocation, console) }
        guard let key = keys.single else { return try KeptValues.run(keys, form, invocation, console) }
        let request = ObjectWriter(op: "get").adding("key", string: key)
        if invocation.has(.long) {
            guard let reply = try BrokerConnection.ask(request, invocation, console) else { return }
            var records = ValueRecords(invocation, console, form, isSingle: true)
            try records.add(key, reply)
            return try records.flush()
        }
        guard let value = try BrokerConnection.ask(request, invocation, console)?["value"] else { return }
        try console.output.bytes(try form.line(value, of: key, on: console.output))
    }
}

/// The values of keys and patterns, at one revision.
private enum KeptValues {
    static func run(
        _ keys: KeyWords, _ form: ValueForm, _ invocation: Invocation, _ console: CommandConsole
    ) throws {
        let connection = try BrokerConnection.open(invocation)
        let snapshot = try Snapshot(
            of: keys.words, from: connection, isTimed: invocation.has(.long), showingProgressOf: console
        )
        let lines = snapshot.lines.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        var records = ValueRecords(invocation, console, form, isSingle: false)
        records.align(snapshot.lines.keys)
        for (key, line) in lines { try records.add(key, line) }
        try records.flush()
        let missing = keys.plain.filter { snapshot.lines[$0] == nil }
        for key in missing { console.say("\"\(SystemText.ofPlain(key))\" has no value") }
        guard missing.isEmpty else {
            throw CommandError(.refused, "\(missing.count) of \(Plural.keys(keys.plain.count)) had no value")
        }
    }
}

/// The values of keys, and each new one.
private enum ValueWatch {
    static func run(
        _ keys: KeyWords, _ form: ValueForm, _ invocation: Invocation, _ console: CommandConsole
    ) throws {
        let request = try ObjectWriter(op: "subscribe").adding("keys", strings: keys.words).checked()
        let connection = try BrokerConnection.open(invocation)
        let observation = ResumingConnection(connection, comesBack: true) { console.say($0.text) }
        try connection.watchStops()
        let timed = request.timed(invocation.has(.long), connection)
        try observation.ask(ResumableRequest(timed, .subscription(hasInitial: true)))
        try observation.connection.watchOutput()
        var records = ValueRecords(invocation, console, form, isSingle: keys.single != nil)
        while true {
            if !observation.hasLine { try records.flush() }
            guard let line = try observation.nextLine(milliseconds: -1), let key = line["key"]?.string,
                case .event(let event) = line.kind
            else { continue }
            if event == "update" { try records.add(key, line) }
            if event == "delete" {
                try records.flush()
                console.say("\(SystemText.ofPlain(key)) has no value any more")
            }
        }
    }
}
