// `load`: writes the values of a dump again.

import PlugboardWire

extension CommandOption {
    static let bound = CommandOption(
        flag: "bound", "also write values that ended with their writer's connection; now they stay"
    )
}

extension Command {
    static let load = Command(
        name: "load",
        group: .operate,
        summary: "write the values of a dump again",
        parameters: [CommandParameter("FILE", "what dump printed; - is standard input")],
        options: [.dryRun, .bound] + CommandOption.writing,
        details: """
            Writes each value in the order of the file. What was one batch is one again: all of it is \
            written, or nothing. A batch that is too long for one line of the bus is written in parts, each \
            all or nothing, and a message says so. Other keys keep their values. ttl, in milliseconds, \
            begins anew. A value keeps its origin; what it was caused by, and by whom, is forgotten.

            A value with "while" ended with the connection of its writer, who isn't here. It is left out, \
            unless --bound is given.

            Bad lines are reported by their numbers. The others are written, and the status is 1. A batch \
            that isn't complete, as at the end of half a file, counts as bad. --dry-run writes nothing. It \
            asks the broker which keys it has, and of each value whether it would be refused: then the \
            status is 1. That is asked of each by itself, so it doesn't tell whether a quota has room for all.
            """,
        examples: ["load bus.ndjson --dry-run", "load bus.ndjson"],
        run: { try FileLoad.run(path: $0.arguments[0], $0, $1) }
    )
}
