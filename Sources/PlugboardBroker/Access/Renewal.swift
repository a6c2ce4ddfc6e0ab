// Rights that change: by another policy, a name, or a plugin's declaration. Keys that a client may not see
// don't exist for it: refusals depend on the policy alone, never on what is there. Services and calls that
// aren't permitted any more end later, because others are told of that.

import PlugboardWire

/// Works out rights anew.
enum Renewal {
    /// Works out anew what a client may do. Returns whether it might see less than before; nil if nothing has
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

    /// A plugin's client had the rights `before`, and may have others now. Nil means that it could do
    /// everything. Returns the same.
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

    /// A client may see other keys now. What it knows of them may be outdated, so a piece of a value would
    /// tell too little.
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
