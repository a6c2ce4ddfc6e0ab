// Carries out the calls of clients to `up`. Every client may call, unless a policy or its plugin.json forbids
// it.

import PlugboardWire

extension Supervisor {
    /// Carries out the calls that have come.
    func serveDesk() throws {
        guard let desk else { return }
        let news = desk.turn()
        for fault in news.faults { view.say("the broker refused what up tells of its plugins: \(fault)") }
        if news.isAlive { noteAlive() }
        for pid in news.known { plugin(of: pid)?.release() }
        for (pid, message) in news.refused { giveUp(pid, message) }
        for (name, isWanted) in news.demands { try want(name, isWanted) }
        defer { desk.cause = nil }
        for request in news.requests {
            desk.cause = request.revision
            try serve(request, desk)
        }
    }

    /// Starts a plugin that is now wanted, and stops one that is no longer wanted.
    private func want(_ name: String, _ isWanted: Bool) throws {
        guard !isStopping, let plugin = plugins.first(where: { $0.name == name }) else { return }
        let (wasRunning, wasWaiting) = (plugin.isRunning, !plugin.isAlive)
        if plugin.want(isWanted, graceSeconds: Self.pluginGraceSeconds) {
            view.tell("started: it is wanted", of: name)
            return try start(plugin)
        }
        if wasRunning, !plugin.isRunning { view.tell("nobody wants it: stopping it", of: name) }
        if wasWaiting || wasRunning != plugin.isRunning { desk?.tell(plugin) }
    }

    private func plugin(of pid: Int32) -> SupervisedProcess? {
        plugins.first { $0.pid == pid }
    }

    /// A plugin that the broker doesn't know stays held, because the broker would not limit it.
    private func giveUp(_ pid: Int32, _ message: String) {
        guard let plugin = plugin(of: pid), plugin.kill() else { return }
        view.tell("the broker doesn't take it: \(message)", of: plugin.name)
    }

    private func serve(_ request: PluginRequest, _ desk: SupervisorClient) throws {
        if request.action == .list {
            return desk.answer(request.call, PluginStatus.json(of: plugins))
        }
        if request.action == .reload {
            guard !isStopping else { return refuseStopping(request, desk) }
            view.say("plugins reload, as \(request.by) asked")
            return desk.answer(request.call, try reload().json)
        }
        guard let name = request.plugin else {
            return desk.refuse(request.call, "bad_value", "the value is a plugin's name, a string")
        }
        guard let plugin = plugins.first(where: { $0.name == name && !$0.isLeaving }) else {
            let hint = Suggestion.hint(for: name, among: plugins.map(\.name)).map { "; \($0)" } ?? ""
            return desk.refuse(request.call, "not_found", "up has no plugin \"\(name)\"\(hint)")
        }
        if request.action == .log {
            let lines = plugin.log.lines.map { JSONText.encoded($0) }
            let answer = request.after.map(plugin.log.json) ?? ObjectWriter.array(lines)
            return desk.answer(request.call, answer)
        }
        guard !isStopping else { return refuseStopping(request, desk) }
        view.tell("\(request.action.rawValue), as \(request.by) asked", of: name)
        try act(request.action, on: plugin)
        desk.answer(request.call, whenSettled: plugin)
    }

    private func refuseStopping(_ request: PluginRequest, _ desk: SupervisorClient) {
        desk.refuse(request.call, "stopping", "everything is being stopped")
    }

    private func act(_ action: PluginAction, on plugin: SupervisedProcess) throws {
        switch action {
        case .list, .log, .reload: return
        case .start:
            if case .stopping = plugin.state {
                plugin.stop(graceSeconds: Self.pluginGraceSeconds, thenBegin: true)
            } else if !plugin.isAlive {
                try start(plugin, byHand: true)
            }
        case .stop: plugin.stop(graceSeconds: Self.pluginGraceSeconds)
        case .restart:
            plugin.stop(graceSeconds: Self.pluginGraceSeconds, thenBegin: true)
            if !plugin.isAlive { try start(plugin, byHand: true) }
        }
        desk?.tell(plugin)
    }
}
