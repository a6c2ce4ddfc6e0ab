// logger: writes everything that happens on the bus to a file, one JSON line for each event.
// With --verbose it also prints a line for people on the terminal.
//
// The file is rotated by size: `log` becomes `log.1`, `log.1` becomes `log.2`, and so on. Whoever
// rotates it instead sends SIGHUP, and the logger opens the path again.
// When the logger ends, the file has everything that the broker had sent when it was asked to.
// The next logger goes on behind the last line, also if this one was killed: no update is missing,
// and none comes twice.

import PlugboardClient
import PlugboardPosix
import PlugboardWire

/// The whole plugin.
public enum LoggerProgram {
    /// Runs it to its end, with the process's command line.
    @MainActor
    public static func run() async {
        await Plugin.run(arguments) { bus in
            let folder = SocketPath.variable("PLUGBOARD_STATE").map { "\($0)/\(arguments.name)" }
            let path = arguments.text(file) ?? (folder ?? bus.path) + ".log"
            let isVerbose = arguments.has(verbose) || SocketPath.variable("PLUGBOARD_VERBOSE") != nil
            let log = SharedLog(
                try LogFile(
                    path: path,
                    bytesMax: arguments.integer(maxBytes) ?? 16_777_216,
                    keep: arguments.integer(keep) ?? 4
                )
            ) { trouble in
                bus.health(trouble == nil ? .well : .degraded, trouble)
            }
            Plugin.onHangUp { log.reopen() }
            Console.say("writing to \(path)")
            // It gets everything, in the last phase, and goes on where an earlier logger was stopped or killed.
            // What comes faster than it can be written waits in the broker, and comes from its journal.
            let place = try LogPlace.place(in: log.newestFiles)
            let options = SubscribeOptions(
                values: !arguments.has(withoutValues),
                delivery: .all,
                phase: 9,
                holdsBack: true,
                since: place,
                countsEmits: true
            )
            var marks = LogMarks(since: place)
            for try await event in try await bus.subscribe("**", options: options) {
                let time = WallClock.millisecondsSince1970()
                if let (mark, since) = marks.mark(before: event) {
                    try await log.append(mark.json(since: since, before: event, time: UTCTime.text(time)))
                    if isVerbose {
                        Console.say(mark.text(since: since, before: event, time: UTCTime.timeOfDay(time)))
                    }
                }
                let line = LogLine(event, at: time)
                try await log.append(line.json)
                if isVerbose { Console.say(line.text) }
            }
        }
    }

    private static let file = PluginOption.text(
        "file",
        "PATH",
        "where to write; by default NAME.log in PLUGBOARD_STATE, or else the socket's path and .log"
    )
    private static let maxBytes = PluginOption.integer(
        "max-bytes", "BYTES", 1...Int.max, "how large the file may grow before it is rotated (16777216)"
    )
    private static let keep = PluginOption.integer(
        "keep", "N", 1...1_000, "how many rotated files to keep (4)"
    )
    private static let withoutValues = PluginOption.flag(
        "no-values", "write which keys change, but no values"
    )
    private static let verbose = PluginOption.flag(
        "verbose", "print every event as well; so does PLUGBOARD_VERBOSE"
    )

    private static let arguments = PluginArguments.read(
        "logger",
        """
        writes every event on the bus to a file

        Each line of the file is a JSON object: "time" (UTC, when the event arrived here), then
        the event's "event", "key", "revision", "value", "by", "reason", "cause", "initial",
        "skipped", "unacked" and "epoch". With --no-values the broker sends no values: the log
        stays small and reveals none. A "lagged" line, with "dropped" and "first", means that
        events up to its revision are missing.

        A logger goes on behind the last line of its file, even if it was killed. The line
        "resumed" says up to which revision the log was complete. All updates and deletes since
        then follow, with "missed", up to "synced", if the broker has a journal; otherwise the
        newest of each key, with "skipped". Emits of that time are missing: "emits" says how
        many, or is null if the broker doesn't know. A line "gap" instead of "resumed" means that the broker no longer
        knows what happened meanwhile; the current values follow.

        A symbolic link as PATH is followed. If another program moves the file away, such as
        logrotate, it sends SIGHUP afterwards: the logger opens PATH again. While the file can't be
        written, for example because the disk is full, the logger tries again each second; then
        follows what the broker has kept, and "lagged" where it could not. NAME.health on the bus
        says whether all is well.
        """,
        options: [file, maxBytes, keep, withoutValues, verbose]
    )
}
