// A call that waits for its answer. The client that made it and the client that has to answer it know it,
// too. Owned by `Calls`.

import PlugboardMemory
import PlugboardWire

final class PendingCall {
    let number: UInt64
    let caller: SessionHandle
    /// The client that has to answer it. While nobody serves the key, the supervisor's client.
    var server: SessionHandle
    /// The number of the caller's line, for the reply to a call without an `id`.
    let line: UInt64
    let timeout: UInt32
    /// How many milliseconds of that are left when it is sent to its server, at least 1.
    private(set) var timeLeft: UInt64
    let cause: WriteCause
    private let text: [UInt8]
    private let idCount: Int
    /// The service that counts it; nil while nobody serves the key.
    var service: Service?
    let start: UInt64
    var deadline: DeadlineTicket?
    /// The plugin for which it waits because that is starting, and its value, empty if it has none.
    var held: (plugin: SupervisedPlugin, value: [UInt8])?
    /// The code of the error that its caller got, from the broker or from the server.
    var error: String?

    init(
        _ asked: AskedRequest, number: UInt64, line: UInt64, timeout: UInt32, at start: UInt64,
        to server: SessionHandle
    ) {
        (self.number, self.line, self.start) = (number, line, start)
        (caller, cause, self.server) = (asked.session, asked.request.cause, server)
        (self.timeout, timeLeft) = (timeout, UInt64(timeout))
        idCount = asked.id.count
        var text: [UInt8] = []
        text.reserveCapacity(idCount + asked.key.count)
        text.append(asked.id)
        text.append(asked.key)
        self.text = text
    }

    /// The caller's `id` as it was written; empty if there was none.
    var id: ArraySlice<UInt8> { text[..<idCount] }
    var key: ArraySlice<UInt8> { text[idCount...] }

    /// It has waited for its server until now.
    func shortenTimeLeft(until now: UInt64) {
        let passed = (now - min(now, start)) / 1_000_000
        timeLeft = UInt64(timeout) - min(UInt64(timeout) - 1, passed)
    }

    /// What it takes up while it waits for a plugin.
    var heldBytes: Int { held.map { key.count + $0.value.count } ?? 0 }
    static let heldBytesMax = 16_777_216

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
        for request: Request, from caller: borrowing Session, to server: borrowing Session
    ) throws(Refusal) {
        guard caller.calls?.made.count ?? 0 < Limits.callsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.callsMax) calls waiting at a time")
        }
        guard server.room >= request.value.count + wrappingBytes else {
            let message =
                "the server has up to \(Limits.outboxBytesMax) bytes to read before it can take more"
            throw Refusal(.limit, message, hint: "try again later", at: request.key.start)
        }
    }
}

// The stages of a call, as a trace shows them.

enum CallOutcome: String {
    case asked
    /// It waits until a plugin serves its key.
    case held
    case answered, failed, abandoned

    var isEnd: Bool { self != .asked && self != .held }

    /// Appends `outcome`, and the `code` of an error.
    func append(_ error: String?, to text: inout ByteBuffer) {
        text.append(member: "outcome", text: rawValue)
        if let error { text.append(member: "code", text: error) }
    }
}
