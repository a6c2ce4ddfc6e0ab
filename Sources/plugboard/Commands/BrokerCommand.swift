// `broker`: runs a broker alone.

import PlugboardBroker
import PlugboardJournal
import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let poller = CommandOption(
        "poller",
        "KIND",
        "how to wait for clients: epoll (Linux) or poll",
        .choice(PollerKind.allCases.map(\.rawValue))
    )
    static let ready = CommandOption(
        flag: "ready", "print \"ready\" to standard output when clients can connect, and nothing else"
    )
    static let supervised = CommandOption(
        flag: "supervised",
        "the parent of this broker says at $broker.plugins.* how its plugins are and what they may do"
    )
}

/// The options for what a broker keeps, and where.
extension CommandOption {
    static let state = CommandOption(
        "state",
        "DIR",
        "where to keep the journal; by default a folder for the socket in ~/.local/state/plugboard"
    )
    static let memory = CommandOption(
        flag: "memory", "keep no journal: what is written lasts as long as the broker"
    )
    static let sync = CommandOption(
        "sync",
        "WHEN",
        "when to bring the journal to disk: always (before any client is told), interval (each second), never",
        .choice(SyncMode.allCases.map(\.rawValue))
    )
    static let history = CommandOption(
        "history",
        "BYTES",
        "how much history to keep for clients that come back (\(JournalLimits.historyBytesDefault))",
        .integer(0...(1 << 50))
    )

    /// The options for how a broker keeps its state.
    static let keeping: [CommandOption] = [.state, .memory, .sync, .history]
}

/// The socket that a service manager has handed over.
enum ServiceSocket {
    /// Nil if there is none. Throws if it has another path than the command line.
    static func take(_ invocation: Invocation) throws -> ActivatedSocket? {
        let activated: ActivatedSocket?
        do {
            activated = try ActivatedSocket.take()
        } catch {
            throw CommandError(.refused, "\(error)")
        }
        guard let activated, let path = invocation.text(.socket), path != activated.path else {
            return activated
        }
        throw CommandError.usage("--socket \(path): the service manager hands over \(activated.path)")
    }
}

/// The ways to tell the parent process that the broker serves.
enum BrokerReady {
    static let line = "ready"
}

extension Command {
    static let broker = Command(
        name: "broker",
        group: .operate,
        summary: "start the broker alone",
        options: [.socket, .poller, .ready, .supervised, .policy] + CommandOption.keeping,
        details: """
            Runs until Ctrl-C or SIGTERM (or SIGQUIT, SIGPWR, SIGXCPU). Then the broker tells every client, \
            spends at most a second on delivering what is on its way, and removes the socket. Other signals \
            that have no meaning for it, such as SIGUSR1, change nothing. A second broker on the same path ends \
            with status 1 and leaves the first alone. If another program listens there, the broker ends with \
            status 69. If something removes the socket's file, the broker says so and listens again.

            The broker keeps what is published in a journal. After a restart it is there again, even if \
            the broker was killed. If the broker can't keep the journal any more, it ends with status 74. \
            If the journal is damaged, the broker leaves it as it is and ends with status 1: see plugboard \
            journal.

            The broker raises its own limit on open files as far as the system allows, for as many clients \
            as plugboard limits shows.

            A service manager may hand over the socket (LISTEN_FDS). Then the broker leaves the socket in \
            place at the end. It tells the service manager when it is ready (NOTIFY_SOCKET), and regularly \
            that it is alive (WATCHDOG_USEC): see plugboard install.

            With --policy, SIGHUP makes the broker read that file again; the new policy then applies as a \
            whole, at once. If the file has a mistake, nothing changes, and the broker says where the \
            mistake is. See plugboard policy.

            If the program's file has been replaced, SIGHUP makes the broker begin anew as the new \
            program, with the same socket, so that no client is refused. SIGUSR2 does so in any case. See \
            plugboard restart. With neither a policy nor a new program, SIGHUP changes nothing, except \
            that the broker stops if the terminal at which it was started is closed.
            """,
        examples: ["broker --socket /tmp/bus.sock", "broker --memory"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        // The usual limit of 1,024 is too low: it is far below the limit of clients, and one other user at
        // its quota would use it up.
        OpenFiles.makeRoom(for: min(OpenFiles.raiseLimit(), Limits.clientsMax))
        let inheritance = Handover.take()
        let variables = Handover.variables(BrokerSuccessor.variables)
        Signals.ignoreStray()
        let signals = try Signals(catching: BrokerSuccessor.signals)
        let terminal = ControllingTerminal()
        let manager = ServiceNotice.take()
        var configuration = try configuration(invocation, console, manager, inheritance)
        configuration.inheritance = inheritance
        let path = configuration.socketPath
        let greeting = once { try greet(invocation, console, path: path, isSuccessor: inheritance != nil) }
        configuration.serving = {
            manager?.ready()
            try greeting()
        }
        let broker = try broker(configuration)
        let policy = invocation.text(.policy)
        let successor = BrokerSuccessor(broker, console, variables, policy: policy)
        try Background.start {
            while true {
                switch signals.wait() {
                case SIGHUP where !terminal.isGone: readAgain(policy, broker, successor, console)
                case SIGUSR2: successor.come()
                default:
                    manager?.stopping()
                    return broker.stop()
                }
            }
        }
        try serve(broker, successor)
    }

    private static func broker(_ configuration: Configuration) throws -> Broker {
        do {
            return try Broker(configuration: configuration)
        } catch let error as SocketTaken {
            throw CommandError(.unavailable, "\(error)", hints: ServiceUnit.hints(forSocket: error.path))
        } catch let error as ClosedPlace {
            throw CommandError(.unavailable, "\(error)")
        }
    }

    private static func configuration(
        _ invocation: Invocation,
        _ console: CommandConsole,
        _ manager: ServiceNotice?,
        _ inheritance: Inheritance?
    ) throws -> Configuration {
        let activated = try ServiceSocket.take(invocation)
        let path = activated?.path ?? invocation.text(.socket) ?? SocketPath.standard()
        let poller = invocation.text(.poller).flatMap { PollerKind(rawValue: $0) } ?? .standard
        var configuration = Configuration(socketPath: path, poller: poller)
        configuration.stateFolder = try stateFolder(invocation, socket: path)
        configuration.journal = journalOptions(invocation)
        configuration.report = { message in console.say(message) }
        configuration.listener = activated?.number
        configuration.hasOwnProcess = true
        if let manager {
            configuration.heartbeat = manager.heartbeatNanoseconds.map { nanoseconds in
                Heartbeat(nanoseconds: nanoseconds) { manager.alive() }
            }
        }
        if invocation.has(.supervised) { configuration.supervisor = getppid() }
        configuration.policy = try invocation.text(.policy).map { path in
            try PolicyFile.left(in: inheritance, path: path) ?? PolicyFile.read(path)
        }
        return configuration
    }

    /// Makes `body` run only once, because this program serves again if another program couldn't start.
    private static func once(_ body: @escaping @Sendable () throws -> Void) -> @Sendable () throws -> Void {
        let isDone = Shared(false)
        return {
            if isDone.get() { return }
            isDone.set(true)
            try body()
        }
    }

    /// Printed only when the broker has read its journal and serves.
    private static func greet(
        _ invocation: Invocation, _ console: CommandConsole, path: String, isSuccessor: Bool
    ) throws {
        if isSuccessor { return console.say("begun anew, as \(Program.version)") }
        if invocation.has(.ready) { return try console.output.line(BrokerReady.line) }
        console.say("listening on \(path); Ctrl-C stops")
        console.say("try: \(HelpText.handLine(path: path))   and type: help")
    }

    /// Runs the broker until it ends, and replaces the program when it makes way.
    private static func serve(_ broker: Broker, _ successor: BrokerSuccessor) throws {
        do {
            try broker.run()
            while broker.hasMadeWay {
                successor.replace()
                try broker.run()
            }
        } catch let error as JournalError {
            if case .failed = error { throw CommandError(.inputOutput, "\(error)") }
            throw error
        }
    }

    /// Checks the files that may have changed: the policy and the program.
    private static func readAgain(
        _ policy: String?, _ broker: Broker, _ successor: BrokerSuccessor, _ console: CommandConsole
    ) {
        // The next broker reads the policy itself. To load it here, too, would be another loading.
        if successor.isAnotherProgram {
            if successor.come() { return }
        } else if policy == nil {
            console.say("\(BrokerStays.words): there is no --policy, and its program is the same")
        }
        if let policy { reload(policy, broker, console) }
    }

    /// Reads the policy again. If it or the socket has a problem, nothing changes.
    private static func reload(_ path: String, _ broker: Broker, _ console: CommandConsole) {
        do {
            try broker.follow(try Policy(path: path))
        } catch {
            console.say("the policy stays as it was: \(error)")
        }
    }

    private static func stateFolder(_ invocation: Invocation, socket: String) throws -> String? {
        if invocation.has(.memory) {
            guard invocation.text(.state) == nil else {
                throw CommandError.usage("--memory keeps nothing, and --state says where")
            }
            return nil
        }
        if let folder = invocation.text(.state) { return folder }
        guard let folder = JournalFolder.standard(forSocket: socket) else {
            throw CommandError.usage(
                "there is no place for the journal: neither HOME nor XDG_STATE_HOME is set",
                hint: "--state DIR names one, --memory does without"
            )
        }
        return folder
    }

    private static func journalOptions(_ invocation: Invocation) -> JournalOptions {
        var options = JournalOptions(sync: .interval)
        if let sync = invocation.text(.sync).flatMap({ SyncMode(rawValue: $0) }) { options.sync = sync }
        if let bytes = invocation.text(.history).flatMap({ Int($0) }) { options.historyBytes = bytes }
        return options
    }
}
