// Rights that change: by another policy, by a name, by what a plugin declares. What may not be seen is not there:
// what a refusal says depends on the policy alone, never on what there is. What a client may not serve, call or
// answer any more ends later: that is told to others.

import PlugboardWire

/// Works out rights anew.
enum Renewal {
    /// Works out anew what a client may do. Returns whether it might see less than before; nil where nothing has
    /// changed.
    static func renew(
        _ session: SessionHandle,
        _ access: inout Access,
        _ matching: inout Matching,
        _ requests: borrowing Requests,
        _ sessions: borrowing SessionTable,
        at revision: UInt64
    ) -> Bool? {
        guard let clearance = sessions[session].clearance, !clearance.isSupervisor,
            let rights = access.rights(of: sessions[session].peer, clearance.groups, name: clearance.name)
        else { return nil }
        let before = clearance.rights
        if rights === before { return nil }
        clearance.rights = rights
        matching.outdate()
        noteNewSight(of: session, matching, requests, sessions, at: revision)
        return before?.mayShowMore(than: rights) ?? true
    }

    /// What a plugin's client may do is another than `before`; nil: everything. Returns the same.
    static func limit(
        _ session: SessionHandle,
        _ before: Rights?,
        _ matching: borrowing Matching,
        _ requests: borrowing Requests,
        _ sessions: borrowing SessionTable,
        at revision: UInt64
    ) -> Bool? {
        guard let rights = sessions[session].clearance?.plugin?.rights, rights !== before else { return nil }
        noteNewSight(of: session, matching, requests, sessions, at: revision)
        return before?.mayShowMore(than: rights) ?? true
    }

    /// What it knows of a key may be older than what is there: a piece of a value would say too little.
    private static func noteNewSight(
        of session: SessionHandle,
        _ matching: borrowing Matching,
        _ requests: borrowing Requests,
        _ sessions: borrowing SessionTable,
        at revision: UInt64
    ) {
        if sessions[session].isBusy { requests.outdate(session) }
        for subscription in sessions[session].subscriptions.list.all {
            matching[subscription].filter?.noteHidden(upTo: revision)
        }
    }
}
