// A call that waits for its answer. The client that made it and the client that has to answer it know it,
// too. Owned by `Calls`.

import PlugboardMemory
import PlugboardWire

/// One call in progress.
final class PendingCall {
    /// Its number, unique in this broker's life.
    let number: UInt64
    let caller: SessionHandle
    /// The client that has to answer it. While nobody serves the key, the supervisor's client.
    var server: SessionHandle
    /// The number of the caller's line, for the reply to a call without an `id`.
    let line: UInt64
    /// How many milliseconds it waits.
    let timeout: UInt32
    /// How many milliseconds of that are left when it is sent to its server, at least 1.
    private(set) var timeLeft: UInt64
    /// What made the caller call, if it said so.
    let cause: WriteCause
    /// The `id`, then the key.
    private let text: [UInt8]
    private let idCount: Int
    /// The service that counts it; nil while nobody serves the key.
    var service: Service?
    /// When it was made, in monotonic nanoseconds.
    let start: UInt64
    /// Its time-out.
    var deadline: DeadlineTicket?
    /// Its place among the calls that its caller made.
    var callerPlace = 0
    /// Its place among the calls that its server has to answer.
    var serverPlace = 0

    init(
        number: UInt64,
        id: Span<UInt8>,
        key: Span<UInt8>,
        timeout: UInt32,
        cause: WriteCause,
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
        timeLeft = UInt64(timeout)
        self.cause = cause
        self.start = start
        idCount = id.count
        var text: [UInt8] = []
        text.reserveCapacity(id.count + key.count)
        text.append(id)
        text.append(key)
        self.text = text
    }

    /// The caller's `id` as it was written; empty if there was none.
    var id: ArraySlice<UInt8> { text[..<idCount] }
    var key: ArraySlice<UInt8> { text[idCount...] }

    /// It has waited for its server until now.
    func noteHeld(until now: UInt64) {
        let passed = (now - min(now, start)) / 1_000_000
        timeLeft = UInt64(timeout) - min(UInt64(timeout) - 1, passed)
    }
}

extension PendingCall {
    /// How many bytes the line of a call or an answer may have besides its value.
    static let wrappingBytes = 1_024

    /// The number in a call's name, if it is written as the broker writes it.
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

    /// Throws unless the client may make one more call, and there is room to send it to the server.
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
