// The commands that write one key: `emit` and `patch`. `publish`, which also reads files, and `delete`, which
// also takes patterns, have files of their own.

import PlugboardWire

extension CommandParameter {
    static let key = CommandParameter("KEY", "tokens separated by dots, such as cart.summary")
    static let value = CommandParameter(
        "VALUE", "JSON; a text needs quotes: '\"hello\"', or --text. - reads it from standard input", .several
    )
}

extension CommandOption {
    static let patchedField = CommandOption(
        "field", short: "f", "POINTER", "change this part of the value: a JSON Pointer, such as /size or /2"
    )
}

extension Command {
    static let emit = Command(
        name: "emit",
        group: .use,
        summary: "send an event that is not kept",
        parameters: [.key, .value],
        options: [.text, .cause, .dryRun] + CommandOption.writing,
        details: "Present observers get it. Later ones don't.",
        examples: [#"emit cart.add '{"sku":"B0001","quantity":2}'"#],
        run: { try SingleWrite.run($0, $1, hasValue: true) }
    )

    static let patch = Command(
        name: "patch",
        group: .use,
        summary: "change parts of a key's value (RFC 7396 merge patch)",
        parameters: [.key, .value],
        options: [.patchedField, .ifRevision, .cause, .dryRun] + CommandOption.writing,
        details: """
            Members of VALUE replace those of the value. null removes a member. A key without a value starts \
            as {}. With --field, only that part of the value is changed; it may be in an array: /2 is the \
            third element, /- a new one at the end, and null removes one.
            """,
        examples: [
            #"patch catalog.B0001 '{"price":49.95}'"#, #"patch cart.items --field /2 '{"quantity":3}'"#,
        ],
        run: { try SingleWrite.run($0, $1, hasValue: true) }
    )
}

/// One write to one key.
enum SingleWrite {
    /// The operation has the command's name.
    static func run(_ invocation: Invocation, _ console: CommandConsole, hasValue: Bool) throws {
        let operation = invocation.syntax.name
        let key = try ValueArgument.key(invocation.arguments[0])
        var request = ObjectWriter(op: operation).adding("key", string: key)
        if hasValue {
            let words = Array(invocation.arguments.dropFirst())
            request = request.adding("value", json: try ValueArgument.read(words, invocation, key: key))
        }
        request = try adding(options: invocation, to: request)
        guard let revision = try send(request, invocation, console)?["revision"]?.integer else { return }
        try console.output.line("revision \(revision)")
    }

    /// Makes the write and returns the reply, or with `--dry-run` shows what it would do. Returns nil if
    /// nothing is left to show.
    static func send(_ request: ObjectWriter, _ invocation: Invocation, _ console: CommandConsole) throws
        -> BrokerLine?
    {
        guard invocation.has(.dryRun) else {
            return try BrokerConnection.ask(request, invocation, console)
        }
        try DryRun.run(of: request, invocation, console)
        return nil
    }

    /// The request with the options that writes share.
    static func adding(options invocation: Invocation, to request: ObjectWriter) throws -> ObjectWriter {
        let field = try invocation.text(.patchedField).map { try JSONPart($0, option: .patchedField).pointer }
        return request.adding("field", string: field)
            .adding("if", invocation.integer(.ifRevision))
            .adding("cause", try invocation.namedCause())
            .adding("ttl", try milliseconds(invocation.seconds(.timeToLive)))
    }

    private static func milliseconds(_ seconds: Double?) throws -> UInt64? {
        guard let seconds else { return nil }
        guard seconds >= 0.001 else { throw CommandError.usage("--ttl is at least 0.001 seconds") }
        return UInt64((seconds * 1_000).rounded())
    }
}
