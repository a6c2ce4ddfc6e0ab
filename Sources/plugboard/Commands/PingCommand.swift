// `ping`: round trips to a running broker, by emits that come back to their sender.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let pings = CommandOption(
        "count",
        short: "n",
        "N",
        "end after so many; by default with Ctrl-C",
        .integer(1...Int(Limits.integerMax))
    )
    static let interval = CommandOption(
        "interval", "SECONDS", "how long to wait between two (1); may be 0", .seconds
    )
    static let pingKey = CommandOption(
        "key", "KEY", "the key to emit (plugboard.ping.N, with its client's number)"
    )
}

extension Command {
    static let ping = Command(
        name: "ping",
        group: .watch,
        summary: "measure round trips to the broker",
        options: [.pings, .interval, .pingKey] + CommandOption.connection,
        details: """
            Observes a key of its own, emits to it, and measures how long each event takes to come back. \
            So a time has two ways through the broker's loop, and nothing of the disk. At the end it \
            prints the median (p50), what 99 of 100 don't exceed (p99), and the longest. The status is 0 \
            if every event came back, and 69 if the broker went away or took longer than --timeout.
            """,
        examples: ["ping", "ping --count 1000 --interval 0"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let key = try invocation.text(.pingKey).map(ValueArgument.key)
        let connection = try BrokerConnection.open(invocation)
        try connection.watchStops()
        var pinger = try Pinger(connection, key: key, timeout: invocation.seconds(.timeout))
        try connection.watchOutput()
        let seconds = invocation.seconds(.interval) ?? 1
        do {
            var left = invocation.integer(.pings) ?? .max
            while left > 0 {
                let due = TimeLimit(seconds: seconds)
                let nanoseconds = try pinger.measure()
                left -= 1
                // At full speed, printing would be what is measured.
                if seconds > 0 {
                    try console.output.line(
                        "\(key ?? pinger.key)  \(pinger.trips.received)  \(RoundTrips.text(nanoseconds))"
                    )
                }
                while left > 0, let wait = due.milliseconds { try pinger.rest(wait) }
            }
        } catch is Interrupted {
            if console.messages.isTerminal { try? console.messages.bytes([0x0D]) }
        } catch let error as CommandError {
            try console.output.line(pinger.trips.summary)
            throw error
        }
        try console.output.line(pinger.trips.summary)
    }
}

/// Emits, and waits for what comes back.
private struct Pinger {
    let key: String
    private(set) var trips = RoundTrips()
    private let connection: BrokerConnection
    private let timeoutSeconds: Double

    init(_ connection: BrokerConnection, key: String?, timeout: Double?) throws {
        self.connection = connection
        self.key = key ?? "plugboard.ping.\(connection.greeting?["client"]?.text ?? "0")"
        timeoutSeconds = timeout ?? BrokerConnection.timeoutSeconds
        _ = try connection.accepted(
            ObjectWriter(op: "subscribe").adding("key", string: self.key).adding(
                "initial", false, unless: true)
        )
    }

    /// One round trip, in nanoseconds.
    mutating func measure() throws -> UInt64 {
        let number = trips.sent + 1
        let request = ObjectWriter(op: "emit").adding("key", string: key).adding("value", UInt64(number))
        let start = MonotonicClock.nanoseconds()
        try connection.send(request.line)
        trips.begin()
        let deadline = TimeLimit(seconds: timeoutSeconds)
        while let left = deadline.milliseconds {
            guard let line = try connection.nextLine(milliseconds: left) else { continue }
            if let refusal = line.refusal { throw refusal }
            guard line.kind == .event("emit"), line["value"]?.integer == UInt64(number) else { continue }
            let nanoseconds = MonotonicClock.nanoseconds() - start
            trips.end(nanoseconds: nanoseconds)
            return nanoseconds
        }
        throw CommandError(
            .unavailable,
            "no answer from the broker at \(connection.path) within \(Amount.seconds(timeoutSeconds))"
        )
    }

    /// Waits between two, and notices if the broker goes away.
    func rest(_ milliseconds: Int32) throws {
        _ = try connection.nextLine(milliseconds: milliseconds)
    }
}
