// `delete`: removes one key, or all keys of several words and patterns, in batches.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let yes = CommandOption(flag: "yes", short: "y", "don't ask, also on a terminal")
    static let dryRun = CommandOption(flag: "dry-run", "only show what would be done")
}

extension Command {
    static let delete = Command(
        name: "delete",
        group: .use,
        summary: "remove a key, or all keys that match a pattern",
        parameters: [
            CommandParameter("KEY", "keys or patterns: * is one token, a last ** any number", .several)
        ],
        options: [.ifRevision, .cause, .yes, .dryRun] + CommandOption.writing,
        details: """
            For a single key it prints the revision of the write. If the key has no value, that is an \
            error, status 1.

            For patterns or several keys it lists the keys, asks if it runs on a terminal, and removes \
            them in batches of up to 1,024 keys. Each batch is one revision, all or nothing. It reports \
            keys (not patterns) without a value, and ends with status 1 then. --dry-run of several prints the \
            keys, and doesn't ask whether they may be deleted.
            """,
        examples: ["delete banner", "delete 'cart.**' 'session.*' --yes", "delete 'old.**' --dry-run"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let keys = try KeyWords(invocation.arguments)
        if keys.single != nil {
            return try SingleWrite.run(invocation, console, hasValue: false)
        }
        guard !invocation.has(.ifRevision) else {
            throw CommandError.usage("--\(CommandOption.ifRevision.name) is for one key")
        }
        let cause = try invocation.namedCause()
        var work = ManyDeletes(try BrokerConnection.open(invocation), cause, console)
        try work.list(keys)
        if invocation.has(.dryRun) { return try work.show() }
        guard try work.keys.isEmpty || invocation.has(.yes) || Confirmation.isGiven(work.question, console)
        else {
            throw CommandError(.refused, "nothing was deleted")
        }
        try work.run(asJSON: invocation.has(.json))
    }
}

/// Many keys that are removed.
private struct ManyDeletes {
    private let connection: BrokerConnection
    private let cause: UInt64?
    private let console: CommandConsole
    private(set) var keys: [String] = []
    /// The words that aren't patterns. They have to exist.
    private var plain: Set<String> = []
    private var missing: [String] = []
    private var deleted = 0
    private var revision: UInt64?

    init(_ connection: BrokerConnection, _ cause: UInt64?, _ console: CommandConsole) {
        self.connection = connection
        self.cause = cause
        self.console = console
    }

    /// Finds the keys, each once.
    mutating func list(_ words: KeyWords) throws {
        var known: Set<String> = []
        plain = Set(words.plain)
        for word in words.words {
            let names = try KeyPages.names(of: word, from: connection)
            if names.isEmpty, plain.contains(word) { missing.append(word) }
            keys += names.filter { known.insert($0).inserted }
        }
    }

    /// Prints the keys.
    func show() throws {
        var pending = PendingOutput(console.output)
        for key in keys { try pending.add(line: key) }
        try pending.flush()
        console.say("\(Plural.keys(keys.count)) match")
        try tellMissing()
    }

    /// What the person is asked.
    var question: String {
        let some = keys.prefix(3).joined(separator: ", ")
        return "delete \(Plural.keys(keys.count)) (\(some)\(keys.count > 3 ? ", …" : ""))?"
    }

    mutating func run(asJSON: Bool) throws {
        var bar = ProgressBar(total: keys.count, counting: "keys", on: console.messages)
        do {
            var rest = keys[...]
            while !rest.isEmpty {
                try delete(Array(rest.prefix(Limits.batchWritesMax)))
                rest = rest.dropFirst(Limits.batchWritesMax)
                bar.update(done: keys.count - rest.count, count: keys.count - rest.count)
            }
        } catch let error as CommandError {
            bar.clear()
            let hint = "\(deleted) of \(Plural.keys(keys.count)) were deleted before"
            throw CommandError(error.status, error.message, hints: error.hints + [hint])
        }
        bar.clear()
        try summarize(asJSON)
        try tellMissing()
    }

    private func tellMissing() throws(CommandError) {
        for key in missing { console.say("\"\(SystemText.ofPlain(key))\" has no value") }
        guard missing.isEmpty else {
            throw CommandError(.refused, "\(missing.count) of \(Plural.keys(plain.count)) had no value")
        }
    }

    /// Removes the keys of one batch. Those that are gone meanwhile are left out.
    private mutating func delete(_ batch: [String]) throws {
        var batch = batch
        while !batch.isEmpty {
            let writes = batch.map {
                ObjectWriter(op: "delete").adding("key", string: $0).adding("cause", cause).bytes
            }
            let reply = try connection.request(
                ObjectWriter(op: "batch").adding("writes", json: ObjectWriter.array(writes))
            )
            guard let refusal = reply.refusal else {
                deleted += batch.count
                revision = reply["revision"]?.integer ?? revision
                return
            }
            guard reply.kind == .error("not_found"), let write = reply["write"]?.integer,
                batch.indices.contains(Int(clamping: write))
            else { throw refusal }
            let gone = batch.remove(at: Int(clamping: write))
            if plain.contains(gone) { missing.append(gone) }
        }
    }

    private func summarize(_ asJSON: Bool) throws {
        if asJSON {
            let counts = ObjectWriter().adding("deleted", deleted).adding("missing", missing.count)
            return try console.output.json(counts.adding("revision", revision).bytes)
        }
        let place = revision.map { ", revision \($0)" } ?? ""
        try console.output.line("deleted \(Plural.keys(deleted))\(place)")
    }
}
