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
    /// Who is counted to answer it: nil while nobody serves it.
    var service: Service?
    /// When it was made, in monotonic nanoseconds.
    let start: UInt64
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
        at start: UInt64,
        from caller: SessionHandle,
        _ line: UInt64,
        to server: SessionHandle
    ) {
        self.number = number
        self.caller = caller
        self.line = line
        self.server = server
        self.timeout = timeout
        self.start = start
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

extension Call {
    /// Bytes that a call's or an answer's line may have beside what it carries.
    static let wrappingBytes = 1_024

    /// The number that a call's name spells, as the broker spells it.
    static func number(_ name: Span<UInt8>) -> UInt64? {
        guard (1...16).contains(name.count), name[0] != UInt8(ascii: "0") else { return nil }
        var number: UInt64 = 0
        for index in name.indices {
            let digit = name[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            number = number * 10 + UInt64(digit)
        }
        return number
    }

    /// Throws unless a client may ask one call more, and its server can be sent it.
    static func checkRoom(
        for request: Request,
        from caller: borrowing Session,
        to server: borrowing Session
    ) throws(Refusal) {
        guard caller.duties?.made.count ?? 0 < Limits.callsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.callsMax) calls waiting at a time")
        }
        guard server.room >= request.value.count + wrappingBytes else {
            let message =
                "the server has up to \(Limits.outboxBytesMax) bytes to read before it can take more"
            throw Refusal(.limit, message, hint: "try again later", at: request.key.start)
        }
    }
}
