// `call`: calls the server of a key, and prints its answer.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let answerTimeout = CommandOption(
        "timeout", "SECONDS", "how long to wait for the answer; by default PLUGBOARD_TIMEOUT, or 5", .seconds
    )
}

extension Command {
    static let call = Command(
        name: "call",
        group: .use,
        summary: "call the server of a key, and print its answer",
        parameters: [
            .key,
            CommandParameter("VALUE", "what the server gets: JSON as in publish, or nothing", .any),
        ],
        options: [.text] + CommandOption.forms + [
            .cause, .clientName, .json, .socket, .peer, .answerTimeout,
        ],
        details: """
            Prints the server's value byte for byte as it was returned; with --json, the broker's reply; \
            with --raw, a string without quotes. For a server's error it prints the server's own code and message, and ends with status 1. It \
            also ends with status 1 if nobody serves the key or no answer comes in time.
            """,
        examples: [#"call cart.add '{"sku":"B0001"}'"#, "call time.now --timeout 0.5"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let key = try ValueArgument.key(invocation.arguments[0])
        var request = ObjectWriter(op: "call").adding("key", string: key)
        let form = try ValueForm(invocation)
        let words = Array(invocation.arguments.dropFirst())
        if !words.isEmpty {
            request = request.adding("value", json: try ValueArgument.read(words, invocation, key: key))
        }
        let seconds = invocation.seconds(.answerTimeout) ?? min(BrokerConnection.timeoutSeconds, longest)
        request = request.adding("timeout", try milliseconds(seconds))
            .adding("cause", try invocation.namedCause())
        // The broker reports the time-out. The command waits longer only for a broker that hangs.
        let patience = seconds + BrokerConnection.timeoutSeconds
        let reply = try BrokerConnection.ask(request, invocation, console, timeout: patience)
        guard let value = reply?["value"] else { return }
        try console.output.bytes(try form.line(value, of: key, on: console.output))
    }

    /// The seconds that the broker lets a call wait.
    private static let longest = Double(Limits.timeoutMax) / 1000

    private static func milliseconds(_ seconds: Double) throws -> UInt64 {
        guard seconds > 0, seconds <= longest else {
            throw CommandError.usage("--timeout is more than 0 and at most \(Int(longest)) seconds")
        }
        return max(1, UInt64(seconds * 1000))
    }
}
