// `who`: shows the observers that a write to a key reaches, the state of each, and the writer of the value.

import PlugboardWire

extension Command {
    static let who = Command(
        name: "who",
        group: .watch,
        summary: "show who observes a key and who wrote it",
        parameters: [.key],
        options: [.json] + CommandOption.connection,
        details: """
            Lists the observers in the order in which they get events, with their state and with how many \
            keys and lines the broker owes them. live: gets events at once. lagging: reads too slowly, or \
            waits for something. paused: held until somebody resumes it. --json prints the broker's reply.
            """,
        examples: ["who cart.total"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let key = try ValueArgument.key(invocation.arguments[0])
        let request = ObjectWriter(op: "who").adding("key", string: key)
        guard let reply = try BrokerConnection.ask(request, invocation, console) else { return }
        let paint = console.output.paint
        try console.output.line(ObserverText.writer(reply, paint))
        if let server = ObserverText.server(reply, paint) { try console.output.line(server) }
        let observers = reply["observers"]?.array?.compactMap(\.object) ?? []
        if observers.isEmpty { try console.output.line("nobody observes it") }
        for line in ObserverText.table(observers, paint, ending: ObserverText.state) {
            try console.output.line(line)
        }
        if reply["more"]?.bool == true { try console.output.line("  and more") }
    }
}

/// The observers in replies of `who`, `explain` and `trace`, as text for a person.
enum ObserverText {
    /// Observers in columns; `ending` gives the last column.
    static func table(
        _ observers: [JSONObject], _ paint: Paint, ending: (JSONObject, Paint) -> String
    ) -> [String] {
        let rows = observers.map { observer in
            [
                name(observer),
                "client \(observer["client"]?.text ?? "?")"
                    + (observer["pid"].map { ", pid \($0.text)" } ?? ""),
                "sub \(Printable.json(observer["sub"]?.bytes ?? []))",
                Printable.text(observer["pattern"]?.string ?? ""),
            ]
        }
        let widths = (0..<4).map { column in min(40, rows.map { $0[column].count }.max() ?? 0) }
        return zip(observers, rows).map { observer, row in
            let cells = zip(row, widths).map(TextLayout.padded)
            let phase = observer["phase"]?.text ?? "5"
            let order = phase == "5" ? "" : "  \(paint.dim("phase \(phase)"))"
            return "  \(paint.bold(cells[0]))  \(cells[1...].joined(separator: "  "))"
                + "  \(ending(observer, paint))\(order)"
        }
    }

    static func name(_ observer: JSONObject) -> String {
        Printable.text(observer["name"]?.string ?? "?")
    }

    /// The state: `live`, or what the observer waits for.
    static func state(_ observer: JSONObject, _ paint: Paint) -> String {
        let state = observer["state"]?.string ?? "?"
        if state == "live" { return paint.green(state) }
        let owed = observer["owed"]?.integer ?? 0
        let queued = observer["queued"]?.integer ?? 0
        let revision = observer["revision"]?.text ?? "?"
        let waiting = "\(owed) owed, newer than revision \(revision), \(queued) bytes queued"
        return "\(paint.yellow(Printable.text(state))): \(waiting)"
    }

    static func writer(_ reply: BrokerLine, _ paint: Paint) -> String {
        let key = paint.bold(Printable.text(reply["key"]?.string ?? ""))
        guard let writer = reply["writer"]?.object else { return "\(key)  has no value" }
        let grace = writer["grace"]?.integer.map {
            " and has \(Amount.age(seconds: ($0 + 999) / 1_000)) to come back"
        }
        let gone = writer["live"]?.bool == false ? ", who is gone" + (grace ?? "") : ""
        // A writer without a number is the broker itself, or a client of an earlier broker.
        let client = writer["client"].map { " (client \($0.text))" } ?? ""
        let origin = WriterText.origin(writer["origin"])
        return "\(key)  written by \(name(writer))\(client)\(origin)\(gone)"
            + "  \(paint.dim("revision \(writer["revision"]?.text ?? "?")"))"
    }

    static func server(_ reply: BrokerLine, _ paint: Paint) -> String? {
        guard let server = reply["server"]?.object else { return nil }
        let spares = (server["spares"]?.array ?? []).compactMap(\.object).map(numbered)
        let line = spares.isEmpty ? "" : ", in line: " + spares.joined(separator: ", ")
        return "served by \(paint.bold(name(server))) (client \(server["client"]?.text ?? "?"))\(line)"
    }

    private static func numbered(_ client: JSONObject) -> String {
        "\(name(client)) (client \(client["client"]?.text ?? "?"))"
    }

    /// The phase for which an observer waits, and the observers of that phase that haven't acknowledged.
    private static func awaited(_ observer: JSONObject) -> String {
        guard let awaits = observer["awaits"]?.object, let phase = awaits["phase"]?.text else { return "" }
        var names = (awaits["observers"]?.array ?? []).compactMap(\.object).map(numbered)
        if awaits["more"]?.bool == true { names.append("and more") }
        return " for phase \(phase): \(names.joined(separator: ", "))"
    }

    /// The outcome: `sent`, `conflated` and so on.
    static func outcome(_ observer: JSONObject, _ paint: Paint) -> String {
        let outcome = Printable.text(observer["outcome"]?.string ?? "?")
        switch outcome {
        case "sent": return paint.green(outcome)
        case "filtered": return paint.dim(outcome)
        case "dropped": return paint.red(outcome)
        case "waiting": return paint.yellow(outcome) + awaited(observer)
        default: return paint.yellow(outcome)
        }
    }
}
