// `keys`: lists the keys that have values.

import PlugboardWire

extension Command {
    static let keys = Command(
        name: "keys",
        group: .use,
        summary: "list the keys",
        parameters: [CommandParameter("PATTERN", "which keys; by default all (**)", .optional)],
        options: [.long, .json] + CommandOption.connection,
        details: """
            Prints one key a line, in the order of their bytes. --long adds each key's revision, whether \
            its writer is still connected, and what ends its value by itself, and when (UTC). --json \
            prints all that as JSON lines, with while and ttl, the milliseconds that are left.
            """,
        examples: ["keys", "keys 'catalog.*'", "keys --long"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let pattern = invocation.argument(0) ?? "**"
        _ = try ObjectWriter(op: "keys").adding("key", string: pattern).checked()
        var isTitled = false
        try KeyPages.forEach(of: pattern, from: try BrokerConnection.open(invocation)) {
            if invocation.has(.long), !invocation.has(.json) {
                try printLong($0.compactMap(\.object), &isTitled, console.output)
            } else {
                try print($0, asJSON: invocation.has(.json), console)
            }
        }
    }

    /// A table for each page, so that any number of keys can be shown. Only the first one has titles.
    private static func printLong(
        _ keys: [JSONObject], _ isTitled: inout Bool, _ output: OutputStream
    ) throws {
        let columns: [TextTable.Column] = [
            .init(title: "KEY"), .init(title: "REVISION", atEnd: true), .init(title: "WRITER"),
            .init(title: "ENDS"),
        ]
        let rows = keys.map { entry in
            TextTable.Row(cells: [
                Printable.text(entry["key"]?.string ?? ""), entry["revision"]?.text ?? "",
                entry["live"]?.bool == true ? "connected" : "gone", ValueEnd(entry)?.text ?? "-",
            ])
        }
        guard !rows.isEmpty else { return }
        let table = TextTable(columns: columns, rows: rows)
        let lines = table.lines(width: 10_000, paint: output.paint)
        for line in lines.dropFirst(isTitled ? 1 : 0) { try output.line(line) }
        isTitled = true
    }

    private static func print(_ keys: [JSONValue], asJSON: Bool, _ console: CommandConsole) throws {
        var text: [UInt8] = []
        for entry in keys {
            if asJSON {
                text += entry.bytes
            } else if let key = entry.object?["key"]?.string {
                text += Array(key.utf8)
            }
            text.append(0x0A)
        }
        guard console.output.isTerminal else { return try console.output.bytes(text) }
        try console.output.text(Printable.lines(String(decoding: text, as: UTF8.self)))
    }
}
