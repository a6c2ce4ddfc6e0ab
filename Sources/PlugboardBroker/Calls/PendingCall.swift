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
    /// Where it stands among the calls of the client that has a role in it.
    var places: InlineArray<2, Int> = [0, 0]

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

enum CallOutcome: Equatable {
    case asked
    /// It waits until a plugin serves its key.
    case held
    case answered
    /// The caller got an error, from the broker or from the server.
    case failed(code: String)
    case abandoned

    /// Appends `outcome`, the `code` of an error, and how long a call took that is over.
    func append(after nanoseconds: UInt64?, to text: inout ByteBuffer) {
        text.append(member: "outcome", text: name)
        if case .failed(let code) = self { text.append(member: "code", text: code) }
        if self != .asked, self != .held, let nanoseconds {
            text.append(member: "microseconds", nanoseconds / 1000)
        }
    }

    private var name: StaticString {
        switch self {
        case .asked: "asked"
        case .held: "held"
        case .answered: "answered"
        case .failed: "failed"
        case .abandoned: "abandoned"
        }
    }
}

// Calls that wait for a plugin to serve their key, because the plugin is starting. Owned by `Calls`. What
// always holds: a held call is in progress, its server is the supervisor's client, and its plugin counts it.

struct HeldCalls {
    static let bytesMax = 16_777_216

    struct Held {
        let call: PendingCall
        /// Empty if the call has none.
        let value: [UInt8]
        let plugin: SupervisedPlugin

        var bytes: Int { call.key.count + value.count }
    }

    private var held: [UInt64: Held] = [:]
    private(set) var bytes = 0

    var isEmpty: Bool { held.isEmpty }

    /// In the order of the calls.
    var all: [Held] { held.values.sorted { $0.call.number < $1.call.number } }

    func plugin(of number: UInt64) -> SupervisedPlugin? { held[number]?.plugin }

    mutating func add(_ call: Held) {
        held[call.call.number] = call
        bytes += call.bytes
        call.plugin.heldCalls += 1
    }

    /// Removes a call if it is held, and returns the plugin for which it waited.
    mutating func remove(_ number: UInt64) -> SupervisedPlugin? {
        guard let call = held.removeValue(forKey: number) else { return nil }
        bytes -= call.bytes
        call.plugin.heldCalls -= 1
        return call.plugin
    }
}

extension HeldCalls: Checked {
    func checkInvariants(
        _ calls: borrowing Calls, _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        var size = 0
        var counts: [ObjectIdentifier: (plugin: SupervisedPlugin, count: Int)] = [:]
        for (number, call) in held {
            size += call.bytes
            counts[ObjectIdentifier(call.plugin), default: (call.plugin, 0)].count += 1
            let server = calls.find(number)?.server
            try Self.always.hold("a held call is under way", server != nil, of: "call \(number)")
            let waits = server.map { sessions[$0].grant?.isSupervisor == true } ?? false
            try Self.always.hold("a held call waits with the supervisor", waits, of: "call \(number)")
        }
        try Self.always.agree("its bytes are those of its calls", bytes, size)
        for (plugin, count) in counts.values {
            try Self.always.agree("a plugin counts its calls", plugin.heldCalls, count, of: plugin.name)
        }
    }
}
