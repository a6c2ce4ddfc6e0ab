// A will, or disconnect action: a write that is made when its client's connection ends. `Hub.writeWill` makes
// it, in `Hub+Lifetimes.swift`.

import PlugboardMemory
import PlugboardWire

/// `will`.
enum KeepWill {
    /// Keeps the write, or forgets the one that was kept if `write` is nil.
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

    /// Sets or replaces a will, or throws. Nil removes it.
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
