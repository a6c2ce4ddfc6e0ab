// `keys`: lists the keys that have values.

import PlugboardWire

extension Command {
    static let keys = Command(
        name: "keys",
        group: .read,
        summary: "list the keys",
        parameters: [CommandParameter("PATTERN", "which keys; by default all (**)", .optional)],
        options: [.json] + CommandOption.connection,
        details: "Prints one key a line, in the order of their bytes. --json adds each key's revision.",
        examples: ["keys", "keys 'catalog.*'"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let pattern = invocation.argument(0) ?? "**"
        _ = try ObjectText(op: "keys").adding("key", string: pattern).checked()
        try KeyPages.forEach(of: pattern, from: try BrokerConnection.open(invocation)) {
            try print($0, asJSON: invocation.has(.json), console)
        }
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
