// `explain`, and `--dry-run` of the writes: what a write would do, without making it.

import PlugboardMemory
import PlugboardWire

extension Command {
    static let explain = Command(
        name: "explain",
        group: .watch,
        summary: "show what a write would do, and to whom, without making it",
        parameters: [
            CommandParameter("WRITE", Operation.writes("or")), .key,
            CommandParameter("VALUE", "JSON, as the write takes it", .any),
        ],
        options: [.ifRevision, .cause, .json] + CommandOption.connection,
        details: """
            Prints the event that observers would get, and the outcome for each of them. If the write \
            would be refused, that is an error, status 1, with the reason. --json prints the broker's \
            reply. publish, emit, patch, add and delete do the same with --dry-run.
            """,
        examples: ["explain publish cart.total 42.50", "explain delete banner --if 7"],
        run: { try DryRun.run(of: write($0), $0, $1) }
    )

    private static func write(_ invocation: Invocation) throws -> ObjectWriter {
        let operation = invocation.arguments[0]
        let operations = Operation.allCases.filter(\.isWrite).map { "\($0.name)" }
        guard operations.contains(operation) else {
            throw CommandError.usage(
                "\"\(SystemText.ofPlain(operation))\" is no write: \(Operation.writes("or"))",
                hint: Suggestion.hint(for: operation, among: operations)
            )
        }
        let key = try ValueArgument.key(invocation.arguments[1])
        var write = ObjectWriter(op: operation).adding("key", string: key)
        let words = Array(invocation.arguments.dropFirst(2))
        if operation == "delete" {
            guard words.isEmpty else { throw CommandError.usage("delete takes a key and no value") }
        } else {
            guard !words.isEmpty else {
                let hint = "usage: plugboard explain \(operation) KEY VALUE… [OPTIONS]"
                throw CommandError.usage("VALUE is missing", hint: hint)
            }
            let value = try ValueArgument.parse(words, command: "explain \(operation)", key: key)
            write = write.adding("value", json: value)
        }
        return write.adding("if", invocation.integer(.ifRevision))
            .adding("cause", invocation.integer(.cause))
    }
}

/// What a write would do, for a person or as the broker's reply.
enum DryRun {
    static func run(of write: ObjectWriter, _ invocation: Invocation, _ console: CommandConsole) throws {
        let request = ObjectWriter(op: "explain").adding("write", json: write.line.dropLast())
        let reply = try BrokerConnection.open(invocation).request(request)
        if invocation.has(.json) { try console.output.json(reply.bytes) }
        if let refusal = reply.refusal { throw refusal }
        if let refusal = reply.foreseenRefusal { throw refusal }
        if invocation.has(.json) { return }
        for line in lines(of: reply, console.output.paint) { try console.output.line(line) }
    }

    private static func lines(of reply: BrokerLine, _ paint: Paint) -> [String] {
        let observers = reply["observers"]?.array?.compactMap(\.object) ?? []
        let key = paint.bold(Printable.text(reply["key"]?.string ?? ""))
        var lines = ["\(key)  \(reply["effect"]?.string ?? "") at revision \(reply["revision"]?.text ?? "")"]
        if ["patch", "add"].contains(reply["op"]?.string), let value = reply["value"] {
            lines.append("  \(Printable.shortened(Printable.json(value.bytes), to: 2_000))")
        }
        lines += ObserverText.table(observers, paint, ending: ObserverText.outcome)
        if reply["more"]?.bool == true { lines.append("  and more") }
        if let note = reply["note"]?.string { lines.append(Printable.text(note)) }
        return lines
    }
}
