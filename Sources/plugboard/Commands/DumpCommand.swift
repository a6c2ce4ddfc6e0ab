// `dump`: all values as lines from which `load` makes them again.

import PlugboardWire

extension Command {
    static let dump = Command(
        name: "dump",
        group: .operate,
        summary: "print all values as lines that load reads",
        parameters: [CommandParameter("PATTERN", "which keys; by default all (**)", .optional)],
        options: CommandOption.connection,
        details: """
            Prints a JSON line for each key, in the order of the revisions: key, revision, value, by, \
            cause if there is one, and what ends the value by itself: ttl, in milliseconds that are left, \
            and while. Values of one batch have x-batch: how many lines it has. jq and grep \
            read the lines, and so do load and publish --from.

            If a value can't be printed, or the broker goes, the status isn't 0. Check it before you rely \
            on the file.
            """,
        examples: ["dump > bus.ndjson", "dump 'catalog.**' | jq -r .key"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let keys = try KeyWords([invocation.argument(0) ?? "**"])
        let connection = try BrokerConnection.open(invocation)
        let snapshot = try Snapshot(of: keys.words, from: connection, showingProgressOf: console)
        var pending = PendingOutput(console.output)
        for line in DumpLines(snapshot).lines { try pending.add(json: line) }
        try pending.flush()
    }
}

/// The lines of a dump.
private struct DumpLines {
    let lines: [[UInt8]]

    init(_ snapshot: Snapshot) {
        let ordered = snapshot.lines.map {
            (revision: $0.value["revision"]?.integer ?? 0, key: $0.key, line: $0.value)
        }
        .sorted {
            $0.revision == $1.revision
                ? $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) : $0.revision < $1.revision
        }
        var counts: [UInt64: Int] = [:]
        for entry in ordered { counts[entry.revision, default: 0] += 1 }
        lines = ordered.map { Self.text($0.line, batch: counts[$0.revision] ?? 1) }
    }

    private static func text(_ line: BrokerLine, batch: Int) -> [UInt8] {
        DumpedValue.members.reduce(ObjectWriter()) { $0.adding($1, json: line[$1]?.bytes) }
            .adding(DumpedValue.batch, batch > 1 ? batch : nil).bytes
    }
}
