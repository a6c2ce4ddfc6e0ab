// The supervisor's side of the hub: it alone writes `$broker.plugins.…`, and what it writes
// there is what the broker goes by. Clients of a plugin's session have its name from their
// greeting on, can't take another, and may do what its declaration lists and no more.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension Hub {
    /// Before the broker's first client: who may say how plugins are.
    mutating func obey(supervisor: Int32) {
        supervision.supervisor = supervisor
    }

    /// Tells what a client that has just connected is to the supervisor, if anything.
    mutating func placeSupervised(_ session: SessionHandle, _ groups: [UInt32]) {
        guard supervision.supervisor != nil else { return }
        let peer = sessions[session].peer
        if supervision.isSupervisor(peer) {
            sessions[session].clearance = Clearance(groups: groups, rights: nil, isSupervisor: true)
        } else if let plugin = supervision.plugin(of: peer) {
            bind(session, to: plugin, groups)
        }
    }

    /// Makes a client one of a plugin's, for good.
    private mutating func bind(
        _ session: SessionHandle,
        to plugin: SupervisedPlugin,
        _ groups: [UInt32]
    ) {
        let clearance = sessions[session].clearance ?? Clearance(groups: groups, rights: nil)
        sessions[session].clearance = clearance
        clearance.plugin = plugin
        clearance.name = plugin.name
        sessions[session].rename(Array(plugin.name.utf8).span, &keyspace)
        if access.followsPolicy { _ = renewRights(of: session) }
        endForbiddenDuties(of: session)
    }

    /// Throws unless a client may call itself so.
    func checkName(
        _ name: Span<UInt8>,
        at offset: Int,
        _ session: SessionHandle
    ) throws(Refusal) {
        guard supervision.supervisor != nil else { return }
        let wanted = String(name)
        if let plugin = sessions[session].clearance?.plugin {
            if plugin.name == wanted { return }
            let message = "this is the plugin \"\(plugin.name)\", which can't call itself \"\(wanted)\""
            throw Refusal(.forbidden, message, hint: "it has its name: hello isn't needed", at: offset)
        }
        guard supervision.isTaken(wanted), sessions[session].clearance?.isSupervisor != true else { return }
        let message = "\"\(wanted)\" is the name of a plugin, which this client is not"
        throw Refusal(.forbidden, message, hint: "plugboard plugins lists them", at: offset)
    }

    /// The supervisor has said its name.
    mutating func noteSupervisor(_ name: Span<UInt8>, _ session: SessionHandle) {
        guard sessions[session].clearance?.isSupervisor == true else { return }
        supervision.supervisorName = String(name)
    }

    /// Throws unless a write to one of the broker's own keys is the supervisor's, of a plugin, and
    /// can be understood.
    @inline(never)
    func checkOwn(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        guard sessions[session].clearance?.isSupervisor == true,
            request.key.bytes(of: line).starts(with: Self.pluginPrefix)
        else { throw .reserved(request, line) }
        if request.operation == .delete { return }
        guard request.operation == .publish, request.has(.whileConnected) else {
            let message = "how plugins are is published, while the one who knows is connected"
            throw Refusal(.forbidden, message, hint: "say \"while\":\"connected\"", at: request.key.start)
        }
        let report = try PluginReport(request.value.bytes(of: line), at: request.value.start)
        guard supervision.hasRoom(for: report.name) else {
            let message = "there are at most \(Supervision.pluginsMax) plugins"
            throw Refusal(.limit, message, at: request.key.start)
        }
    }

    /// Goes by what the supervisor has just published.
    mutating func takeReport(_ observable: ObservableHandle, from reporter: SessionHandle) {
        guard let report = try? PluginReport(keyspace[observable].value, at: 0) else { return }
        supervision.reporter = reporter
        let before = supervision.plugin(named: report.name)?.rights
        if let plugin = supervision.take(report) { findClients(of: plugin, before) }
        guard let plugin = supervision.plugin(named: report.name) else { return }
        failHeld(for: plugin)
        renewDemand(of: plugin)
    }

    /// The supervisor deletes what it said of a plugin: there is none of that name any more.
    mutating func dropReport(_ observable: ObservableHandle) {
        guard let report = try? PluginReport(keyspace[observable].value, at: 0),
            let plugin = supervision.plugin(named: report.name)
        else { return }
        supervision.remove(plugin)
        failHeld(for: plugin)
    }

    private mutating func findClients(of plugin: SupervisedPlugin, _ before: Rights?) {
        // Who is a client already may turn out to be the plugin's, or to have taken its name.
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot) else { continue }
            if sessions[session].clearance?.plugin === plugin {
                limit(session, before)
            } else if sessions[session].clearance?.plugin == nil,
                supervision.plugin(of: sessions[session].peer) === plugin
            {
                bind(session, to: plugin, sessions[session].clearance?.groups ?? [])
                limit(session, nil)
            } else if sessions[session].isNamed(plugin.name, keyspace) {
                sessions[session].loseName(&keyspace)
                sessions[session].clearance?.name = nil
                if access.followsPolicy { _ = renewRights(of: session) }
            }
        }
        matching.outdate()
    }

    /// What a plugin's client may do is another than `before`; nil: everything.
    private mutating func limit(_ session: SessionHandle, _ before: Rights?) {
        guard let rights = sessions[session].clearance?.plugin?.rights, rights !== before else { return }
        noteNewSight(of: session)
        endForbiddenDuties(of: session)
        // Who observes nothing has been told nothing but what it asked for.
        let seesLess = before?.mayShowMore(than: rights) ?? true
        let isObserver = sessions[session].subscriptions.count > 0
        if seesLess, isObserver, sessions[session].hasUnread {
            delivery.setAside(session, .revoked, &sessions)
        }
    }

    private static var pluginPrefix: Span<UInt8> {
        @_lifetime(immortal)
        get { StaticString("$broker.plugins.").bytes }
    }
}
