// `up`: a broker and the plugins, each a process of its own, in one terminal.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let plugins = CommandOption(
        "plugins",
        "DIR",
        "the folder of plugin folders; by default plugins here, or else plugins beside plugboard"
    )
    static let demo = CommandOption(flag: "demo", "play a shopping session through the plugins")
    static let verbose = CommandOption(
        flag: "verbose", "show whole lines, and let plugins such as the logger print everything that happens"
    )
}

extension Command {
    static let up = Command(
        name: "up",
        group: .operate,
        summary: "start the broker and the plugins, and show what they print",
        parameters: [CommandParameter("PLUGIN", "only these plugins; by default all", .any)],
        options: [.socket, .plugins, .demo, .verbose, .policy] + CommandOption.keeping,
        details: """
            up puts a plugin's name in front of each line that it prints. On a terminal it cuts the line \
            to one row; --verbose shows it whole, and so does plugboard plugins log. up restarts a plugin \
            that crashes, after 0.1 seconds at first and 30 at most. A plugin that would start a sixth \
            time within 10 seconds is broken, and up leaves it alone until plugboard plugins start. A \
            plugin that ends with status 0 is done. plugboard plugins shows the state of each plugin, and \
            so do the keys $broker.plugins.* on the bus. up reads a plugin.json again at each start of its \
            plugin; plugboard plugins reload reads all of them, including new ones. up doesn't wait for who reads \
            its output: what doesn't fit, there or on a full disk, is left out, a line says how many lines that \
            were, and plugboard plugins log has the last ones. When the reader has gone (up | head), everything \
            stops.

            On Ctrl-C or SIGTERM, up stops the plugins, then the broker. A plugin and everything that it \
            started get SIGTERM, and SIGKILL after 2 seconds. A second Ctrl-C, at least half a second \
            later, doesn't wait. If the broker dies, up starts it again, and it resumes from its journal. \
            Without a journal, or if it crashes too often, up stops everything, with status 1. up keeps what \
            is published as plugboard broker does. A demo and its plugins keep nothing unless you say \
            where. If up itself is killed outright, the kernel sends SIGTERM to the broker and the plugins \
            (on Linux; on other systems they go on).

            up passes SIGHUP on to the broker, which reads its --policy again, and SIGUSR2, with which the \
            broker begins anew. If the terminal at which up was started is closed, everything stops. Other \
            signals are as for plugboard broker.

            A plugin is a folder with a plugin.json:

              {"name": "cart", "run": "cart"}

            run is the path of a program in that folder, or the name of a program beside plugboard or \
            among the installed plugins. The program may be in any language. On the bus the plugin may do \
            what it lists in subscribes, publishes (also emits), calls, serves and controls, each with patterns. It \
            may also have arguments, demo_arguments (added by --demo), restart (always, on-failure or \
            never), start (up; demand: when a client observes what it publishes or calls what it \
            serves; or never: when somebody starts it by plugboard plugins start), idle (how many seconds without that until it is stopped), and description. A plugin \
            runs in its folder. Its variables are PLUGBOARD_SOCKET (the bus), PLUGBOARD_FD (an open \
            connection to it), PLUGBOARD_FD_PID (the process that it is for), PLUGBOARD_NAME (its name, which no other client can take), \
            PLUGBOARD_PROGRAM (this program, for shell scripts), PLUGBOARD_STATE (a folder for the \
            plugins' files, for this user alone, which is kept if the bus is) and, with --verbose, \
            PLUGBOARD_VERBOSE.
            """,
        examples: ["up --demo", "up cart price-indicator --socket /tmp/shop.sock"],
        run: { invocation, console in
            try UpSession(invocation, console).run()
        }
    )
}

/// One run of `up`.
private struct UpSession {
    private let invocation: Invocation
    private let console: CommandConsole
    private let socket: String
    /// The socket from a service manager; nil if there is none.
    private let activated: ActivatedSocket?
    private let manager: ServiceNotice?
    private let state: PluginState
    private let source: PluginSource
    private let folder: PluginFolder?

    init(_ invocation: Invocation, _ console: CommandConsole) throws {
        self.invocation = invocation
        self.console = console
        guard let executable = ProgramPath.current() else {
            throw CommandError(.refused, "this system doesn't tell where plugboard is")
        }
        manager = ServiceNotice.take()
        activated = try ServiceSocket.take(invocation)
        let path = activated?.path ?? invocation.text(.socket) ?? SocketPath.standard()
        socket = path.hasPrefix("/") ? path : Folder.current() + "/" + path
        state = PluginState(invocation, socket: socket)
        source = PluginSource(
            given: invocation.text(.plugins),
            names: invocation.arguments,
            isDemo: invocation.has(.demo),
            executable: executable,
            launcher: ChildLauncher(
                executable: executable,
                socket: socket,
                stateFolder: state.path,
                isVerbose: invocation.has(.verbose)
            )
        )
        folder = try source.read()
        try folder?.check(invocation.arguments)
        if folder == nil, let name = invocation.arguments.first {
            throw CommandError.usage(
                "there is no plugin \"\(name)\": there is no folder plugins here; --plugins DIR names one"
            )
        }
    }

    func run() throws {
        Signals.ignoreStray()
        let signals = try Signals(catching: Signals.ending + [SIGHUP, SIGUSR2, SIGCHLD])
        let plugins = source.chosen(of: folder).map(source.process)
        let broker = SupervisedProcess(
            name: "broker",
            // What it kept without a journal would be gone.
            terms: ProcessSpec(start: brokerStart(), rule: state.isKept ? .onFailure : .never),
            doneText: "ended"
        )
        let player = demoScript().map(player)
        let view = UpView(
            console: console,
            socket: socket,
            names: (plugins + [player].compactMap(\.self) + [broker]).map(\.name),
            isVerbose: invocation.has(.verbose)
        )
        let supervisor = try Supervisor(
            broker: broker,
            plugins: plugins,
            source: source,
            player: player,
            signals: signals,
            view: view,
            manager: manager
        )
        defer { view.finish() }
        var hasState = false
        defer {
            if activated == nil { SocketCleanup.removeDead(socket) }
            if hasState { state.end() }
        }
        try supervisor.run {
            try BrokerConnection(path: socket).expectGreeting()
            // Now that the broker has the socket, no other `up` uses the folder.
            try state.make()
            hasState = true
            // Its greeting says what a person can do now, so the desk serves before `up` greets.
            let desk = try SupervisorClient { try BusLink(path: socket) }
            view.greet(plugins: summary(plugins), hasDashboard: plugins.contains { $0.name == "dashboard" })
            for problem in folder?.problems ?? [] { view.say("not started: \(problem)") }
            if invocation.has(.demo), player == nil {
                view.say(
                    """
                    there is no demo to play: \(DemoScript.fileName) is missing in the folder of the plugins; \
                    installed packages have it in plugboard-demo
                    """
                )
            }
            return desk
        }
        view.say("stopped")
    }

    private func brokerStart() -> ChildStart {
        var start = source.launcher.start(source.executable, brokerArguments(), name: "broker")
        if let activated {
            start.passing = activated.number
            start.environment.append("LISTEN_FDS=1")
        }
        return start
    }

    /// Passes the broker's options on. A demo begins with an empty shop.
    private func brokerArguments() -> [String] {
        var arguments = ["broker", "--ready", "--supervised", "--socket", socket]
        for option in [CommandOption.policy, .state, .sync, .history] {
            if let text = invocation.text(option) { arguments += ["--\(option.name)", text] }
        }
        return state.isKept ? arguments : arguments + ["--memory"]
    }

    private func summary(_ plugins: [SupervisedProcess]) -> String {
        guard let folder else {
            return "No plugins: there is no folder plugins here (--plugins DIR names one)."
        }
        guard !plugins.isEmpty else {
            let isPlugin = FileStatus(path: PluginFolder.file(in: folder.path)).kind != .missing
            let parent = ShellWord.quoted(SocketPath.folder(of: folder.path))
            let hint = isPlugin ? ": it is one itself (--plugins \(parent))" : ""
            return "No plugins in \(folder.path)\(hint)."
        }
        return "Plugins: \(plugins.map(\.name).joined(separator: ", "))."
    }

    private func player(of script: String) -> SupervisedProcess {
        let name = DemoScript.processName
        // The address has a secret. A terminal shows it to this user alone; a file might not.
        let isSeen =
            console.output.isTerminal && source.chosen(of: folder).contains { $0.name == "dashboard" }
        let page = isSeen ? ["--\(CommandOption.showDashboard.name)"] : []
        return SupervisedProcess(
            name: name,
            terms: ProcessSpec(
                start: source.launcher.start(source.executable, ["play", script] + page, name: name),
                rule: .never
            ),
            doneText: "is over; the bus stays up: \(HelpText.handLine(path: socket))"
        )
    }

    private func demoScript() -> String? {
        guard invocation.has(.demo), let folder else { return nil }
        let path = folder.path + "/" + DemoScript.fileName
        return FileStatus(path: path).kind == .file ? path : nil
    }
}

/// Removes the socket that a killed broker leaves behind.
enum SocketCleanup {
    /// Removes the socket at `path` if no broker holds its lock, and nobody else has it open.
    static func removeDead(_ path: String) {
        guard FileStatus(path: path).kind == .socket, let lock = try? SocketLock.acquire(for: path) else {
            return
        }
        UnixSocket.removeDead(path: path)
        _ = consume lock
    }
}
