// A call that waits for its answer. It is known to the client that made it, to the one that is to
// answer it, and to the room of calls, which owns it.

import PlugboardMemory
import PlugboardWire

/// One call under way.
final class Call {
    /// Its name, unique while the broker runs.
    let number: UInt64
    let caller: SessionHandle
    /// Who is to answer it; while nobody serves it, who is to see to that.
    var server: SessionHandle
    /// The caller's line that made it, for a reply to a call without an `id`.
    let line: UInt64
    /// Milliseconds that it waits.
    let timeout: UInt32
    /// The `id` and the key, one behind the other.
    private let text: ByteBlock
    private let idCount: Int
    /// When it has waited long enough.
    var deadline: DeadlineTicket?
    /// Its place among the calls that its caller made.
    var callerPlace = 0
    /// Its place among the calls that its server is to answer.
    var serverPlace = 0

    init(
        number: UInt64,
        id: Span<UInt8>,
        key: Span<UInt8>,
        timeout: UInt32,
        from caller: SessionHandle,
        _ line: UInt64,
        to server: SessionHandle
    ) {
        self.number = number
        self.caller = caller
        self.line = line
        self.server = server
        self.timeout = timeout
        idCount = id.count
        var text = ByteBlock(count: id.count + key.count)
        text.write(id, at: 0)
        text.write(key, at: id.count)
        self.text = text
    }

    /// The caller's `id` as it was written; empty where there was none.
    var id: Span<UInt8> {
        @_lifetime(immortal)
        get { text.kept[..<idCount] }
    }
    var key: Span<UInt8> {
        @_lifetime(immortal)
        get { text.kept[idCount...] }
    }
}
