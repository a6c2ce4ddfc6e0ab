// `publish`: one value from the command line, or many from a file.

extension Option {
    static let from = Option(
        "from",
        "FILE",
        "publish each JSON line of FILE, {\"key\":…,\"value\":…}; - is standard input"
    )
}

extension Option {
    static let timeToLive = Option(
        "ttl",
        "SECONDS",
        "delete the key after so long, unless it is written again",
        .seconds
    )
}

extension Command {
    static let publish = Command(
        name: "publish",
        group: .write,
        summary: "set a key's value, or the values of a whole file",
        parameters: [
            Parameter("KEY", "tokens parted by dots, such as cart.summary", .optional),
            Parameter("VALUE", Parameter.value.help, .any),
        ],
        forms: ["KEY VALUE…", "--from FILE"],
        options: [.from, .ifRevision, .cause, .timeToLive] + Option.writing,
        details: """
            Prints the revision that the write made.

            --from takes a line per write; key and value must be there, revision, by, cause (as get \
            prints them) and names that begin with x- are left aside, blank lines and lines that begin \
            with # too. Each line is a write of its own: a bad one is reported with its number, the \
            others are published, and the status is 1 in the end.
            """,
        examples: [
            #"publish greeting '"hello"'"#, "publish counter 42 --if 0",
            #"publish till.hint '"paper is low"' --ttl 60"#,
            #"publish --from catalog.ndjson"#, "get '**' --socket old.sock | plugboard publish --from -",
        ],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: Console) throws {
        if let path = invocation.text(.from) {
            guard invocation.arguments.isEmpty else {
                throw CommandError.usage(
                    "--from takes the keys and values from the file; \"\(invocation.arguments[0])\" is too many"
                )
            }
            for option in [Option.ifRevision, .cause, .timeToLive] where invocation.has(option) {
                throw CommandError.usage("--\(option.name) is for one key and doesn't go with --from")
            }
            return try FileImport.run(path: path, invocation, console)
        }
        let missing = ["KEY", "VALUE"].dropFirst(invocation.arguments.count).first
        if let missing {
            throw CommandError.usage(
                "\(missing) is missing",
                hint: "usage: \(HelpText.usage(of: invocation.command))"
            )
        }
        try SingleWrite.run(invocation, console, hasValue: true)
    }
}
