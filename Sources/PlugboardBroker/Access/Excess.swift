// Too many bytes wait for a client to read them, or have come of its next request: too many for its user's
// quota, or for all clients without a quota together. Such a client is closed.

import PlugboardWire

/// The limit that a client has exceeded, so that it is closed.
enum Excess {
    /// The quota of its user.
    case quota
    /// The limit of what waits for all clients without a quota together, or of what they have sent in part.
    case commonOwed, commonPartial

    /// What the client's last line says; nil if it only names the quota.
    var message: String? {
        switch self {
        case .quota: nil
        case .commonOwed: Self.message("\(Limits.commonOwedBytesMax) bytes wait to be read")
        case .commonPartial: Self.message("\(Limits.commonPartialBytesMax) bytes of unfinished requests wait")
        }
    }

    private static func message(_ what: String) -> String {
        "more than \(what) of all clients without a quota together"
    }
}

extension Excess {
    /// Counts anew what a client is owed, and closes the client if that is too much.
    @inline(never)
    static func countOwed(
        to session: SessionHandle,
        _ access: inout Access,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        guard let excess = access.recountOwed(session, &sessions) else { return }
        excess.close(session, &sessions, &delivery)
    }

    /// Counts what has come of a client's next request, and closes the client if that is too much.
    static func countPartial(
        _ bytes: Int,
        of session: SessionHandle,
        _ access: inout Access,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        let clearance = sessions[session].clearance
        guard let excess = access.recountPartial(bytes, of: session, clearance) else { return }
        excess.close(session, &sessions, &delivery)
    }

    private func close(
        _ session: SessionHandle,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        guard let message else { return delivery.setAside(session, .quota, &sessions) }
        delivery.setAside(session, .quota, saying: message, &sessions)
    }
}
