// `plugins`: shows the plugins of `up`, and acts on them. It asks over the bus, as any client can.

import PlugboardWire

extension CommandOption {
    static let logLines = CommandOption(
        "lines",
        "N",
        "log: how many lines (all that are kept, \(PluginLog.linesMax) at most)",
        .integer(0...PluginLog.linesMax)
    )
    static let follow = CommandOption(
        flag: "follow", short: "F", "log: go on with what it prints, with times, until Ctrl-C"
    )
}

extension Command {
    static let plugins = Command(
        name: "plugins",
        formerName: "plugin",
        group: .operate,
        summary: "list the plugins of up, start or stop one, show what it printed",
        parameters: [
            CommandParameter("reload|start|stop|restart|log", "what to do; by default list them", .optional),
            CommandParameter("NAME", "the plugin's name, as the list shows it", .optional),
        ],
        forms: ["", "reload", "start|stop|restart|log NAME"],
        options: [.logLines, .follow, .clientName, .json] + CommandOption.observing,
        details: """
            States: running: it has a process. waiting: it crashed, and starts again soon. ended: it ended \
            by itself, for good. idle: it starts on demand, and no client needs it. broken: it crashed too \
            often. stopping, stopped: somebody asked for that. RESTARTS counts its starts after the first \
            one. SINCE is when the state began (UTC).

            reload reads every plugin.json again. It starts the plugins of new folders and stops those whose \
            folder is gone. A change of what a plugin may do applies at once. Another program or other \
            arguments apply from its next start. If a plugin.json has a mistake, its plugin stays as it is, \
            and the status is 1.

            stop and restart return when the plugin has ended. To end it, up sends SIGTERM, and SIGKILL 2 \
            seconds later, to the plugin and to everything that it started. start and restart return when \
            the plugin has a process. Calls of what it serves wait until it serves them. A broken plugin \
            gets a new chance. log prints the last lines of its output and errors. With --follow each line has \
            its time (UTC), a mark shows where a run of the plugin began, and the command goes on until \
            Ctrl-C, also over a restart of the broker (unless --no-reconnect). With --json log prints an array of \
            strings; with --follow, too, a line is {"at":…,"line":…}, a mark {"at":…,"run":2,"pid":4711}, and {"missing":…} says how many up had \
            dropped before it was asked.
            """,
        examples: [
            "plugins", "plugins restart cart", "plugins log cart --follow", "plugins reload",
            "plugins --json | jq -r '.[] | select(.state == \"broken\").name'",
        ],
        run: { try PluginCaller($0, $1).run() }
    )
}

/// Calls `up` and prints its answer.
private struct PluginCaller {
    /// Longer than `up` waits for a plugin to stop.
    private static let patienceSeconds = Supervisor.pluginGraceSeconds + 3

    private let invocation: Invocation
    private let console: CommandConsole

    init(_ invocation: Invocation, _ console: CommandConsole) {
        self.invocation = invocation
        self.console = console
    }

    func run() throws {
        let action = try invocation.argument(0).map(Self.action) ?? .list
        for option in [CommandOption.logLines, .follow] where invocation.has(option) && action != .log {
            throw CommandError.usage("--\(option.name) is for log")
        }
        let name = invocation.argument(1)
        switch (action, name) {
        case (.list, nil): try list()
        case (.reload, nil): try reload()
        case (.list, let name?), (.reload, let name?):
            throw CommandError.usage(
                "\"\(name)\" is one argument too many: \(action.rawValue) is for all plugins"
            )
        case (_, nil):
            throw CommandError.usage("NAME is missing", hint: "usage: \(invocation.syntax.usage())")
        case (_, let name?): try act(action, on: name)
        }
    }

    private func list() throws {
        let reply = try call(.list, value: nil)
        if invocation.has(.json) { return try console.output.json(reply.bytes) }
        let plugins = reply.array?.compactMap(\.object) ?? []
        guard !plugins.isEmpty else { return try console.output.line("up has no plugins") }
        for line in PluginTable.lines(plugins, paint: console.output.paint) {
            try console.output.line(line)
        }
    }

    private func reload() throws {
        let reply = try call(.reload, value: nil)
        func names(_ field: String) -> [String] { reply.object?[field]?.strings ?? [] }
        if invocation.has(.json) {
            try console.output.json(reply.bytes)
        } else {
            let outdated = names("outdated")
            for name in names("added") { try tell("added    ", name) }
            for name in names("removed") { try tell("removed  ", name) }
            for name in names("changed") where !outdated.contains(name) { try tell("changed  ", name) }
            for name in outdated {
                let command = "\(Program.spelling) plugins restart \(ShellWord.quoted(name))"
                try tell("changed  ", "\(name); it runs as it was started, until: \(command)")
            }
            if ["added", "removed", "changed", "problems"].allSatisfy({ names($0).isEmpty }) {
                try console.output.line("nothing has changed")
            }
        }
        let problems = names("problems")
        guard problems.isEmpty else {
            throw CommandError(.refused, problems.map { "not taken in: \($0)" }.joined(separator: "\n"))
        }
    }

    private func tell(_ what: String, _ name: String) throws {
        try console.output.line(what + Printable.text(name))
    }

    private func act(_ action: PluginAction, on name: String) throws {
        if invocation.has(.follow) {
            var follower = PluginFollower(name, linesMax: linesMax, invocation, console)
            return try follower.run()
        }
        let reply = try call(action, value: JSONText.encoded(name))
        if action == .log { return try showLog(reply) }
        if invocation.has(.json) { try console.output.json(reply.bytes) }
        let state = reply.object?["state"]?.string ?? "?"
        guard action == .stop || state == "running" else {
            let reason = reply.object?["end"]?.string.map { ": \($0)" } ?? ""
            throw CommandError(.refused, "\(name) is \(state)\(reason)")
        }
        guard !invocation.has(.json) else { return }
        if action != .stop, let problem = reply.object?["problem"]?.string { console.say(problem) }
        let pid = reply.object?["pid"].map { ", pid \($0.text)" } ?? ""
        try console.output.line(Printable.text("\(name) is \(state)\(pid)"))
    }

    private static func action(_ word: String) throws -> PluginAction {
        if let action = PluginAction(rawValue: word) { return action }
        let words = PluginAction.allCases.map(\.rawValue)
        let hint = Suggestion.hint(for: word, among: words)
        throw CommandError.usage(
            "plugins takes \(words.joined(separator: ", ")), not \"\(word)\"", hint: hint
        )
    }

    private func showLog(_ reply: JSONValue) throws {
        let kept = reply.array ?? []
        let lines = kept.suffix(linesMax ?? kept.count)
        if invocation.has(.json) {
            return try console.output.json(ObjectWriter.array(lines.map { Array($0.bytes) }))
        }
        for line in lines { try console.output.line(Printable.text(line.string ?? "")) }
    }

    private var linesMax: Int? { invocation.integer(.logLines).flatMap { Int(exactly: $0) } }

    private func call(_ action: PluginAction, value: [UInt8]?) throws -> JSONValue {
        var request = ObjectWriter(op: "call").adding("key", string: PluginKey.call(action))
        if let value { request = request.adding("value", json: value[...]) }
        request = request.adding("timeout", UInt64(Self.patienceSeconds * 1_000))
        let timeout = invocation.seconds(.timeout) ?? Self.patienceSeconds + BrokerConnection.timeoutSeconds
        let connection = try BrokerConnection.open(invocation, timeout: timeout)
        let reply = try connection.request(request)
        if reply.kind == .error("no_provider") {
            throw PluginError.noSupervisor(connection.path)
        }
        if let refusal = reply.refusal { throw refusal }
        return reply["value"] ?? JSONValue(accepted: [])
    }
}

/// The plugins in columns.
enum PluginTable {
    static func lines(_ plugins: [JSONObject], paint: Paint) -> [String] {
        let columns: [TextTable.Column] = [
            .init(title: "NAME"), .init(title: "STATE"), .init(title: "PID", atEnd: true),
            .init(title: "RESTARTS", atEnd: true), .init(title: "SINCE"), .init(title: "LAST END"),
        ]
        let rows = plugins.map { plugin in
            TextTable.Row(
                cells: ["name", "state", "pid", "restarts", "since", "end"].map { field in
                    let value = plugin[field]
                    return Printable.text(value?.string ?? value?.text ?? "-")
                },
                isMarked: ["waiting", "broken"].contains(plugin["state"]?.string)
            )
        }
        return TextTable(columns: columns, rows: rows).lines(width: widthMax, paint: paint)
    }

    /// No cell is cut, because programs read these lines, too.
    private static let widthMax = 10_000
}
