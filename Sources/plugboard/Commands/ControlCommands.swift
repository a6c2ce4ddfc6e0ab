// `pause`, `step`, `resume`: hold another program's subscription, let single lines through, and
// release it. `disconnect`: end another program's connection.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension CommandParameter {
    fileprivate static let client = CommandParameter(
        "CLIENT", "the number of the observer's client, as who shows it"
    )
    fileprivate static let sub = CommandParameter("SUB", "its subscription, as who shows it (1)", .optional)
}

extension CommandOption {
    static let stepCount = CommandOption(
        "count", short: "n", "N", "how many lines (1)", .integer(1...Limits.stepsMax)
    )
}

extension Command {
    static let pause = Command(
        name: "pause",
        group: .make,
        summary: "hold an observer: it gets nothing until resume",
        parameters: [.client, .sub],
        options: [.json] + CommandOption.connection,
        details: """
            The observer doesn't learn that it is held. The broker owes it what comes meanwhile: the \
            newest value of each key that changes, or everything if it asked for all. Prints how much that \
            is now, in keys and lines. Only resume ends the hold; the end of this command doesn't.
            """,
        examples: ["pause 6", "pause 6 prices"],
        run: { try Control.run($0, $1) }
    )

    static let step = Command(
        name: "step",
        group: .make,
        summary: "let one waiting line through to an observer that is held",
        parameters: [.client, .sub],
        options: [.stepCount, .json] + CommandOption.connection,
        details: "Prints how much the broker owed it before, in keys and lines.",
        examples: ["step 6", "step 6 --count 10"],
        run: { try Control.run($0, $1) }
    )

    static let resume = Command(
        name: "resume",
        group: .make,
        summary: "release an observer that is held",
        parameters: [.client, .sub],
        options: [.json] + CommandOption.connection,
        details: """
            The observer gets what the broker owes it at once. Prints how much that was, in keys and \
            lines. For a key whose newest value the observer didn't ask for, it gets nothing.
            """,
        examples: ["resume 6"],
        run: { try Control.run($0, $1) }
    )
}

extension Command {
    static let disconnect = Command(
        name: "disconnect",
        group: .operate,
        summary: "end the connection of a client",
        parameters: [CommandParameter("CLIENT", "the client's number, as clients and who show it")],
        options: [.json] + CommandOption.connection,
        details: """
            The client gets a last line that names who did this. What it left for its end is done: the \
            broker makes the write of its will, deletes the keys that go with the connection, and ends its \
            services. The program itself goes on, and may connect again: the library does. plugboard \
            plugins stop ends a plugin.
            """,
        examples: ["disconnect 6"],
        run: { invocation, console in
            let client = try Control.client(invocation)
            let request = ObjectWriter(op: "disconnect").adding("client", client)
            guard try BrokerConnection.ask(request, invocation, console) != nil else { return }
            try console.output.line("client \(client) is disconnected")
        }
    )
}

/// One request to hold or release an observer.
private enum Control {
    /// The operation has the command's name.
    static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let client = try client(invocation)
        let request = ObjectWriter(op: invocation.syntax.name)
            .adding("sub", json: sub(invocation.argument(1) ?? "1")[...])
            .adding("client", client)
            .adding("count", invocation.integer(.stepCount))
        let reply = try BrokerConnection.ask(request, invocation, console)
        guard let owed = reply?["owed"]?.integer else { return }
        try console.output.line("\(Amount.count(owed)) owed")
    }

    /// The client's number, which is the first argument.
    static func client(_ invocation: Invocation) throws -> UInt64 {
        let word = invocation.arguments[0]
        guard CommandOption.isNumber(word), let client = UInt64(word), client > 0, client <= Limits.integerMax
        else {
            throw CommandError.usage(
                "CLIENT is a number; it was \"\(SystemText.ofPlain(word))\"",
                hint: "plugboard clients lists them, and who KEY tells those that observe a key"
            )
        }
        return client
    }

    /// A number stays a number, and a text in quotes stays as it is. Anything else gets quotes.
    private static func sub(_ word: String) -> [UInt8] {
        if let number = Int64(word) { return Array("\(number)".utf8) }
        let value = try? JSONValue(parsing: Array(word.utf8)[...])
        return value?.string == nil ? JSONText.encoded(word) : Array(value?.bytes ?? [])
    }
}
