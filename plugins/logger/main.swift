// logger: writes down everything that happens on the bus, a JSON line an event in a file
// and, with --verbose, a line for people on the terminal.
//
// The file is rotated by size: `log` becomes `log.1`, `log.1` becomes `log.2`, and so on.
// What the broker had told when the logger was asked to end is in the file when it has.

import Foundation
import PlugboardClient

let file = PluginOption.text(
    "file",
    "PATH",
    "where to write; else NAME.log in the folder PLUGBOARD_STATE, else the socket's path and .log"
)
let maxBytes = PluginOption.integer(
    "max-bytes",
    "BYTES",
    1...Int.max,
    "how large the file grows before it is rotated (16777216)"
)
let keep = PluginOption.integer("keep", "N", 1...1_000, "how many rotated files are kept (4)")
let withoutValues = PluginOption.flag("no-values", "write which keys change, not what to")
let verbose = PluginOption.flag("verbose", "print every event as well; so does PLUGBOARD_VERBOSE")

let arguments = PluginArguments.read(
    "logger",
    """
    writes every event on the bus to a file

    Each line of the file is a JSON object: "time" (UTC, when the event arrived here), then
    the event's "event", "key", "revision", "value", "by", "reason", "cause", "initial",
    "skipped" and "unacked". With --no-values the broker sends none: the log stays small, and
    tells nobody what was in them. A second "synced" line means that the connection was lost in between,
    "lagged" with "dropped" and "first" that events are missing up to its revision.
    """,
    options: [file, maxBytes, keep, withoutValues, verbose]
)

await Plugin.run(arguments) { bus in
    let variables = ProcessInfo.processInfo.environment
    let folder = variables["PLUGBOARD_STATE"].map { "\($0)/\(arguments.name)" }
    let path = arguments.text(file) ?? (folder ?? bus.path) + ".log"
    let isVerbose = arguments.has(verbose) || variables["PLUGBOARD_VERBOSE"] != nil
    var log = try LogFile(
        path: path,
        bytesMax: arguments.integer(maxBytes) ?? 16_777_216,
        keep: arguments.integer(keep) ?? 4
    )
    Console.say("writing to \(path)")
    // Last of all, and nothing left out.
    let options = SubscribeOptions(values: !arguments.has(withoutValues), delivery: .all, phase: 9)
    for try await event in try await bus.subscribe("**", options: options) {
        let line = LogLine(event, at: .now())
        try log.append(line.json)
        if isVerbose { Console.say(line.text) }
    }
}
