// Where a client belongs: what its user may do, and whether it is the supervisor's or a plugin's. Clients in
// a plugin's session have its name from their greeting on, can't take another name, and may only do what its
// declaration lists.

import PlugboardPosix
import PlugboardWire

/// Places clients.
enum Placement {
    /// Gives a client that has just connected its rights.
    static func place(
        _ session: SessionHandle,
        _ groups: [UInt32],
        _ access: inout Access,
        _ supervision: borrowing Supervision,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable
    ) {
        let peer = sessions[session].peer
        let plugin = supervision.plugin(of: peer)
        if supervision.isSupervisor(peer) {
            sessions[session].clearance = Clearance(groups: groups, rights: nil, isSupervisor: true)
        } else if let rights = access.rights(of: peer, groups, name: plugin?.name) {
            sessions[session].clearance = Clearance(groups: groups, rights: rights)
        }
        if let plugin, !supervision.isSupervisor(peer) {
            bind(session, to: plugin, groups, &keyspace, &sessions)
        }
        access.openAccount(of: sessions[session])
    }

    /// Makes a client part of a plugin, for good.
    static func bind(
        _ session: SessionHandle,
        to plugin: SupervisedPlugin,
        _ groups: [UInt32],
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable
    ) {
        let clearance = sessions[session].clearance ?? Clearance(groups: groups, rights: nil)
        sessions[session].clearance = clearance
        clearance.plugin = plugin
        clearance.name = plugin.name
        sessions[session].rename(Array(plugin.name.utf8).span, &keyspace)
    }
}

/// How a supervisor's report about a plugin concerns a client.
enum ReportedClient {
    /// It belonged to the plugin already.
    case known
    /// It turns out to belong to the plugin.
    case found
    /// It has taken the plugin's name.
    case namesake
    case other

    init(
        _ session: borrowing Session,
        _ plugin: SupervisedPlugin,
        _ supervision: borrowing Supervision,
        _ keyspace: borrowing Keyspace
    ) {
        if let own = session.clearance?.plugin, own === plugin {
            self = .known
        } else if session.clearance?.plugin == nil, supervision.plugin(of: session.peer) === plugin {
            self = .found
        } else {
            self = session.isNamed(plugin.name, keyspace) ? .namesake : .other
        }
    }
}
