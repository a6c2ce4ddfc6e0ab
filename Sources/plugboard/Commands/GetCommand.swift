// `get`: prints one value as it is, or all values whose keys match a pattern.

import PlugboardWire

extension Command {
    static let get = Command(
        name: "get",
        group: .read,
        summary: "print the value of a key, or of all keys that match a pattern",
        parameters: [CommandParameter("KEY", "a key, or a pattern: * is one token, a last ** any number")],
        options: [.json] + CommandOption.connection,
        details: """
            Prints the value of a key byte for byte as it was published. (On a terminal, control \
            characters are spelled out.) If the key has no value, that is an error, status 1.

            For a pattern it prints one line for each key, in the order of the keys: KEY VALUE on a \
            terminal; when piped or with --json, JSON lines with key, revision, value and by, which \
            publish --from reads. If no key matches, it prints nothing.
            """,
        examples: ["get cart.summary", "get 'catalog.**' > catalog.ndjson"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let key = invocation.arguments[0]
        if key.utf8.contains(UInt8(ascii: "*")) {
            return try Snapshot.run(pattern: key, invocation, console)
        }
        _ = try ValueArgument.key(key)
        let request = ObjectText(op: "get").adding("key", string: key)
        guard let value = try BrokerConnection.ask(request, invocation, console)?["value"] else { return }
        try console.output.json(value.bytes)
    }
}

/// All values whose keys match a pattern, at one revision.
private enum Snapshot {
    static func run(pattern: String, _ invocation: Invocation, _ console: CommandConsole) throws {
        let request = try ObjectText(op: "subscribe").adding("key", string: pattern).checked()
        let connection = try BrokerConnection.open(invocation)
        _ = try connection.accepted(request)
        var updates: [(key: String, line: BrokerLine)] = []
        while true {
            let line = try connection.nextLine()
            if line.kind == .event("synced") { break }
            guard line["initial"]?.bool == true, let key = line["key"]?.string else { continue }
            updates.append((key, line))
        }
        updates.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        let isReadable = console.output.isTerminal && !invocation.has(.json)
        let widest = isReadable ? min(40, updates.map(\.key.count).max() ?? 0) : 0
        var pending = PendingOutput(console.output)
        for (key, line) in updates {
            if isReadable {
                try pending.add(line: readable(key, line, widest, console.output.paint))
            } else {
                try pending.add(json: record(line))
            }
        }
        try pending.flush()
    }

    private static func readable(_ key: String, _ line: BrokerLine, _ widest: Int, _ paint: Paint) -> String {
        let name = TextLayout.padded(Printable.text(key), widest)
        return "\(paint.bold(name))  \(Printable.json(line["value"]?.bytes ?? []))"
    }

    /// `{"key":…,"revision":…,"value":…,"by":…}`.
    private static func record(_ line: BrokerLine) -> [UInt8] {
        ["key", "revision", "value", "by", "cause"].reduce(ObjectText()) {
            $0.adding($1, json: line[$1]?.bytes)
        }
        .bytes
    }
}
