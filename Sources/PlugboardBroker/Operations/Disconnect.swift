// Ends another client's connection. The loop tells that client at the end of the turn.

import PlugboardMemory
import PlugboardWire

/// `disconnect`.
enum Disconnect {
    /// Returns the client to close. Call `reply` after what that causes.
    static func perform(
        _ asked: AskedRequest,
        _ client: UInt64,
        _ keyspace: borrowing Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) throws(Refusal) -> SessionHandle {
        let other = try target(client, by: asked.session, sessions)
        let message = message(from: sessions[asked.session], keyspace)
        if other == asked.session {
            delivery.note(message, to: other)
            sessions[other].farewell = .disconnected
        } else {
            delivery.setAside(other, .disconnected, saying: message, &sessions)
        }
        return other
    }

    static func reply(
        _ asked: AskedRequest,
        _ client: UInt64,
        revision: UInt64,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        delivery.openReply(to: asked.session, &sessions)
        ReplyEncoder.appendDisconnected(
            client: client,
            id: asked.id,
            revision: revision,
            to: &sessions[asked.session].outbox.own
        )
    }

    /// Under a policy, this takes the right to control all keys.
    private static func target(
        _ client: UInt64,
        by session: SessionHandle,
        _ sessions: borrowing SessionTable
    ) throws(Refusal) -> SessionHandle {
        guard sessions[session].isGuarded, sessions[session].client != client else {
            return try sessions.find(client, for: session)
        }
        guard sessions[session].authorizeAll(.control, Pattern.everything) else {
            let hint = "it takes the right to control **"
            throw Refusal(.forbidden, "this client may not disconnect others", hint: hint)
        }
        guard let other = sessions.find(client: client) else { throw .noClient(client) }
        return other
    }

    private static func message(from session: borrowing Session, _ keyspace: borrowing Keyspace) -> String {
        var name = ByteBuffer()
        session.appendName(keyspace, to: &name)
        // A client without a name is called by its number.
        let isNumber = session.signature == nil || name.bytes[1] == UInt8(ascii: "#")
        let who = isNumber ? "" : " \(String(name.bytes))"
        return "client \(session.client)\(who) has ended this connection"
    }
}
