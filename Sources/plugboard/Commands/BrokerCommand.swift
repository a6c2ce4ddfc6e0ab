// `broker`: the broker alone. Nothing is done here before it listens.

import PlugboardBroker
import PlugboardPosix

extension Option {
    static let poller = Option(
        "poller",
        "KIND",
        "how to wait for clients: epoll (Linux) or poll",
        .choice(PollerKind.allCases.map(\.rawValue))
    )
    static let ready = Option(
        flag: "ready",
        "print \"ready\" to standard output when clients can connect, and nothing else"
    )
}

/// How a broker tells its parent that it listens.
enum BrokerReady {
    static let line = "ready"
}

extension Command {
    static let broker = Command(
        name: "broker",
        group: .run,
        summary: "start the broker alone",
        options: [.socket, .poller, .ready],
        details: """
            Runs until Ctrl-C or SIGTERM: then every client is told, what is on its way is delivered for \
            at most a second, and the socket is removed. A second broker on the same path is refused with \
            status 1 and leaves the first alone.
            """,
        examples: ["broker --socket /tmp/bus.sock"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: Console) throws {
        let signals = try Signals(catching: [SIGINT, SIGTERM, SIGHUP])
        let path = invocation.text(.socket) ?? SocketPath.standard()
        let poller = invocation.text(.poller).flatMap { PollerKind(rawValue: $0) } ?? .standard
        let broker = try Broker(configuration: Configuration(socketPath: path, poller: poller))
        if invocation.has(.ready) {
            try console.output.line(BrokerReady.line)
        } else {
            console.say("listening on \(path); Ctrl-C stops")
            console.say("try: \(HelpText.handLine(path: path))   and type: help")
        }
        try Background.start {
            _ = signals.wait()
            broker.stop()
        }
        try broker.run()
    }
}
