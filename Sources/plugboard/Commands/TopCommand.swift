// `top`: shows the busiest keys, the clients and the warnings of a bus, and updates them.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let once = CommandOption(
        flag: "once", "count for a second, or as --every says, print one report as plain text, and end")
    static let period = CommandOption("every", short: "e", "SECONDS", "how often to redraw (1)", .seconds)
}

extension Command {
    static let top = Command(
        name: "top",
        group: .watch,
        summary: "watch the clients, the busiest keys, who is slow, and warnings",
        parameters: [CommandParameter("PATTERN", "only keys that match; by default all (**)", .any)],
        options: [.once, .period, .clientName] + CommandOption.observing,
        details: """
            Takes the whole terminal and redraws it every second. q, F10 or Ctrl-C ends it, p holds the \
            picture. ↑, ↓, Page Up, Page Down, Home and End scroll the table of keys, or after Tab that of \
            clients. > or F6 sorts it by the next column, < by the one before; after the last column comes \
            the usual order. I turns the order around. If standard output is not a terminal, it prints a line every second.

            A client that sends more than half of all lines, and a key with more than half of all changes, are \
            named above the tables and marked: they flood the bus, from 100 a second on. Slow clients stand first. QUEUED is how many bytes wait in the broker for a client, OWED how \
            many keys have a newest value that it hasn't got yet. Rates per second are the mean of the \
            last four periods, or of four seconds if a period is shorter. TOTAL counts what happened while \
            top was watching. The first lines also tell how many calls are asked, how many fail, and after \
            how long their servers answer. Times are UTC. When the broker goes, top waits for it, except with --once.
            """,
        examples: ["top", "top 'cart.**'", "top --once > state.txt"],
        run: run
    )

    private static let shortestSeconds = 0.1
    /// Rows of each table in a report.
    private static let reportRows = 40

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let seconds = invocation.seconds(.period) ?? 1
        guard seconds >= shortestSeconds else {
            throw CommandError.usage("--every is at least \(shortestSeconds) seconds")
        }
        let patterns = invocation.arguments.isEmpty ? ["**"] : invocation.arguments
        _ = try ObjectWriter(op: "subscribe").adding("keys", strings: patterns).checked()
        let connection = try BrokerConnection.open(invocation, usualName: "top")
        let isOnce = invocation.has(.once)
        let isFull =
            console.output.isTerminal && !isOnce && SocketPath.variable("TERM") != "dumb"
        let comesBack = !invocation.has(.noReconnect) && !isOnce
        let observation = ResumingConnection(connection, comesBack: comesBack) { news in
            // The full screen shows that in its own words.
            if !isFull { console.say(news.text) }
        }
        var feed = try TopFeed(
            observation,
            title: (["\(Program.name) top"] + invocation.arguments + ["at \(connection.path)"]).joined(
                separator: " "
            ),
            patterns: patterns,
            seconds: seconds,
            isWhole: !isFull
        )
        if isFull {
            var screen = try TopScreen(feed, connection, console.output)
            try screen.run()
        } else {
            try connection.watchOutput()
            try connection.watchStops()
            try printPlainly(&feed, onceAfter: isOnce ? seconds : nil, console.output)
        }
    }

    /// Prints a line for each period until a signal comes, or one report after so many seconds.
    private static func printPlainly(
        _ feed: inout TopFeed, onceAfter seconds: Double?, _ output: OutputStream
    )
        throws
    {
        while true {
            do { try feed.gather() } catch is Interrupted { return }
            let picture = TopPicture(state: feed.state, paint: Paint(isOn: false))
            if let seconds {
                let report = picture.report(rows: reportRows, seconds: seconds)
                return try output.text(report.map { $0 + "\n" }.joined())
            }
            try output.line(picture.line(at: TimeOfDay.now()))
        }
    }
}
