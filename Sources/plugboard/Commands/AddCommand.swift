// `add`: adds to a number on the bus, and prints the sum. The broker does it in one step, so that no two of
// them can overwrite each other.

import PlugboardMemory
import PlugboardWire

extension CommandOption {
    static let addedField = CommandOption(
        "field", short: "f", "POINTER", "add to this part of the value: a JSON Pointer, such as /visits"
    )
}

extension Command {
    static let add = Command(
        name: "add",
        group: .use,
        summary: "add to a number, exactly, and print the sum",
        parameters: [
            .key, CommandParameter("NUMBER", "such as 1, -1 or 0.05; by default 1", .optional),
        ],
        options: [.addedField, .ifRevision, .cause, .timeToLive, .dryRun] + CommandOption.writing,
        details: """
            Prints the new number. Nothing is rounded: 0.1 and 0.2 are 0.3, and 9007199254740993 stays so. \
            A key without a value counts as 0, and so does a part that isn't there. Where there is \
            something but a number, that is an error, status 1. However many programs add at a time, \
            each of them counts.
            """,
        examples: ["add visits", "add stock.B0001 -2", "add cart.summary 19.95 --field /total"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let key = try ValueArgument.key(invocation.arguments[0])
        let number = invocation.argument(1) ?? "1"
        guard number == "-" || (try? JSONValue(parsing: Array(number.utf8)[...])) != nil else {
            throw notANumber(number)
        }
        let value = try ValueArgument.parse([number], command: "add", key: key)
        guard value.first.map({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }) == true else {
            throw notANumber(number)
        }
        let request = ObjectWriter(op: "add").adding("key", string: key).adding("value", json: value)
        let reply = try SingleWrite.send(
            try SingleWrite.adding(options: invocation, to: request), invocation, console
        )
        guard let sum = reply?["value"] else { return }
        try console.output.line(sum.text)
    }

    private static func notANumber(_ word: String) -> CommandError {
        .usage("NUMBER is a number, such as 1, -1 or 0.05; it was \"\(SystemText.ofPlain(word))\"")
    }
}
