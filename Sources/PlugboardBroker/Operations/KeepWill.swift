// A write that a client leaves to be made when its connection ends.

import PlugboardMemory
import PlugboardWire

/// `will`.
enum KeepWill {
    /// Keeps the write, or forgets the one that was kept where there is none.
    static func perform(
        _ asked: AskedRequest,
        _ write: Request?,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ access: borrowing Access
    ) throws(Refusal) {
        let session = asked.session
        guard let write else { return try replace(by: nil, of: session, &keyspace, &sessions, access) }
        try Key.checkWritable(write, asked.line)
        if sessions[session].isGuarded { try access.checkWrite(write, asked.line, sessions[session]) }
        try replace(by: Will(write, in: asked.line), of: session, &keyspace, &sessions, access)
    }

    /// Keeps a will in place of another, or of none, or throws; nil takes it back.
    static func replace(
        by will: consuming Will?,
        of session: SessionHandle,
        _ keyspace: inout Keyspace,
        _ sessions: inout SessionTable,
        _ access: borrowing Access
    ) throws(Refusal) {
        let (bytes, legacy) = (Legacy.bytes(of: will), sessions[session].legacy)
        try access.replaceWill(of: sessions[session], keyspace.willBytes(of: legacy), by: bytes)
        if bytes > 0 {
            keyspace.keep(will, in: sessions[session].makeLegacy(&keyspace))
        } else if let legacy {
            keyspace.keep(nil, in: legacy)
        }
    }
}
