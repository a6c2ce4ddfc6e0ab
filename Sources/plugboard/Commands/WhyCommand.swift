// `why`: shows the causes of a key's newest write, one below the other.

import PlugboardWire

extension CommandOption {
    static let limit = CommandOption(
        "limit", "N", "show at most N steps (\(Limits.chainStepsDefault))", .integer(1...Limits.pageKeysMax)
    )
}

extension Command {
    static let why = Command(
        name: "why",
        group: .watch,
        summary: "follow the causes of a key's value back to the first",
        parameters: [.key],
        options: [.json, .limit] + CommandOption.connection,
        details: """
            Begins with the newest write of the key, or its delete, and follows each write to the one that \
            caused it. Each line shows who made the write, at which revision, and when (UTC). The broker \
            remembers the last 65,536 writes. --json prints its reply.
            """,
        examples: ["why cart.total", "why banner --limit 10"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let key = try ValueArgument.key(invocation.arguments[0])
        let request = ObjectWriter(op: "why").adding("key", string: key)
            .adding("limit", invocation.integer(.limit))
        guard let reply = try BrokerConnection.ask(request, invocation, console) else { return }
        for line in ChainText.lines(of: reply, console.output.paint) { try console.output.line(line) }
    }
}

/// A chain of causes for a person.
enum ChainText {
    static func lines(of reply: BrokerLine, _ paint: Paint) -> [String] {
        let steps = reply["chain"]?.array?.compactMap(\.object) ?? []
        let keys = steps.map { Printable.text($0["key"]?.string ?? "?") }
        let widest = min(40, keys.map(\.count).max() ?? 0)
        var lines: [String] = []
        for (step, key) in zip(steps, keys) {
            let arrow = lines.isEmpty ? "  " : "← "
            lines.append("\(arrow)\(paint.bold(TextLayout.padded(key, widest)))  \(text(of: step, paint))")
        }
        if reply["more"]?.bool == true { lines.append("← more: --limit shows them") }
        if reply["truncated"]?.bool == true { lines.append("← older than what the broker remembers") }
        return lines
    }

    private static func text(of step: JSONObject, _ paint: Paint) -> String {
        let operation = step["op"]?.string ?? "written"
        let writer = WriterText.of(step["by"], step["origin"])
        let place = paint.dim("revision \(step["revision"]?.text ?? "?")")
        let when = step["when"]?.string.map { "  " + paint.dim(Printable.text($0)) } ?? ""
        return "\(Printable.text(operation)) by \(writer)  \(place)\(when)"
    }
}
