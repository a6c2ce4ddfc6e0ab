// `metrics`: the figures of the bus for Prometheus, once or again and again into a file.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let into = CommandOption("into", "FILE", "write them into this file, in one step")
    static let everySeconds = CommandOption(
        "every", short: "e", "SECONDS", "with --into: again and again, until Ctrl-C", .seconds
    )
}

extension Command {
    static let metrics = Command(
        name: "metrics",
        group: .watch,
        summary: "print the bus's figures in Prometheus' text format",
        options: [.into, .everySeconds] + CommandOption.connection,
        details: """
            Prints the figures of $broker.stats, of each client and of the plugins of up. With --into a \
            reader of the file finds the old figures or the new ones, never a part, as node_exporter's \
            textfile collector needs it: name the file FOLDER/plugboard.prom. A device or a pipe isn't \
            replaced: the status is 1.

            plugboard_up is 1. If there is no broker, --into writes plugboard_up 0 alone. With --every the \
            command then goes on and looks again; otherwise its status is 69.
            """,
        examples: ["metrics", "metrics --into /var/lib/node_exporter/plugboard.prom --every 15"],
        run: run
    )

    private static let shortestSeconds = 0.1

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let every = invocation.seconds(.everySeconds)
        if let every, every < shortestSeconds {
            throw CommandError.usage("--every is at least \(shortestSeconds) seconds")
        }
        guard let file = invocation.text(.into) else {
            guard every == nil else { throw CommandError.usage("--every goes with --into") }
            return try console.output.text(try look(invocation))
        }
        guard let every else {
            do {
                return try MetricsFile.write(try look(invocation), to: file)
            } catch let error as CommandError where error.status == .unavailable {
                try MetricsFile.write(MetricsText.down, to: file)
                throw error
            }
        }
        try repeatedly(every, file, invocation, console)
    }

    /// One connection for each look, so that a broker that is gone in between does no harm.
    private static func look(_ invocation: Invocation) throws -> String {
        MetricsText(try BusReport(try BrokerConnection.open(invocation))).text
    }

    private static func repeatedly(
        _ seconds: Double, _ file: String, _ invocation: Invocation, _ console: CommandConsole
    ) throws {
        let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        let poller = PollPoller()
        try poller.add(signals.raw, token: 0, interest: .read)
        var problem: String?
        while true {
            let due = TimeLimit(seconds: seconds)
            // Where there is a broker that can't tell all, such as while `up` hangs, the file stays as it was.
            var text: String?
            do {
                text = try look(invocation)
                if problem != nil { console.say("the figures are there again") }
                problem = nil
            } catch let error as CommandError {
                if error.status == .unavailable { text = MetricsText.down }
                if problem == nil {
                    console.say(
                        "\(error.message); looking again every \(invocation.text(.everySeconds) ?? "") s"
                    )
                }
                problem = error.message
            }
            if let text { try MetricsFile.write(text, to: file) }
            while let left = due.milliseconds {
                var isStopped = false
                try poller.wait(milliseconds: left) { _ in isStopped = true }
                if isStopped { return }
            }
        }
    }
}

/// The files that commands replace.
enum ReplacedFile {
    /// Throws unless a file is there, or nothing. A device or a pipe has other users, and root can replace
    /// even `/dev/null`.
    static func check(_ path: String) throws {
        guard [.file, .missing].contains(FileStatus(path: path).kind) else {
            throw CommandError(.refused, "\(path) is no file, so it isn't replaced")
        }
    }
}

/// A file that is replaced in one step. A symbolic link to it stays. A device or a pipe is never replaced.
enum MetricsFile {
    static func write(_ text: String, to given: String) throws {
        try ReplacedFile.check(given)
        let path = FileCopy.place(behind: given)
        // A collector reads all files that end in .prom, so this one doesn't.
        let temporary = "\(path).new-\(getpid())"
        do {
            try OutputFile.write(text, to: temporary)
            try FileCopy.move(temporary, to: path)
        } catch {
            _ = try? FileCopy.remove(temporary)
            throw error
        }
    }
}
