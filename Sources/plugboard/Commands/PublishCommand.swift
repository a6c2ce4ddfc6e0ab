// `publish`: writes one value from the command line, or many from a file.

import PlugboardWire

extension CommandOption {
    static let from = CommandOption(
        "from", "FILE", "publish each JSON line of FILE, {\"key\":…,\"value\":…}; - is standard input"
    )
}

extension CommandOption {
    static let timeToLive = CommandOption(
        "ttl", "SECONDS", "delete the key after that time, unless it is written again", .seconds
    )
}

extension Command {
    static let publish = Command(
        name: "publish",
        group: .use,
        summary: "set a key's value, or the values of a whole file",
        parameters: [
            CommandParameter("KEY", "tokens separated by dots, such as cart.summary", .optional),
            CommandParameter("VALUE", CommandParameter.value.help, .any),
        ],
        forms: ["KEY VALUE…", "--from FILE"],
        options: [.from, .text, .ifRevision, .cause, .timeToLive, .dryRun] + CommandOption.writing,
        details: """
            Prints the revision of the write. With --text, the value is a string, and its words need no \
            quotes; from standard input (-) it is everything but the last line feed.

            --from makes one write for each line. A line must have key and value, and may have ttl, in \
            milliseconds. revision, by, cause, while (as get and dump print them) and names that begin with x- are ignored, and so are blank lines and lines \
            that begin with #. If a line is refused, the command reports its number, publishes the others, \
            and ends with status 1.
            """,
        examples: [
            #"publish greeting '"hello"'"#, "publish counter 42 --if 0",
            "publish --text screen list", #"publish till.hint '"paper is low"' --ttl 60"#,
            #"publish --from catalog.ndjson"#, "get '**' --socket old.sock | plugboard publish --from -",
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        if let path = invocation.text(.from) {
            guard invocation.arguments.isEmpty else {
                throw CommandError.usage(
                    "--from takes the keys and values from the file; \"\(invocation.arguments[0])\" is too many"
                )
            }
            for option in [CommandOption.text, .ifRevision, .cause, .timeToLive, .dryRun]
            where invocation.has(option) {
                throw CommandError.usage("--\(option.name) is for one key and doesn't go with --from")
            }
            return try FileImport.run(path: path, invocation, console)
        }
        let missing = ["KEY", "VALUE"].dropFirst(invocation.arguments.count).first
        if let missing {
            throw CommandError.usage("\(missing) is missing", hint: "usage: \(invocation.syntax.usage())")
        }
        try SingleWrite.run(invocation, console, hasValue: true)
    }
}
