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
        for request: Request, from caller: borrowing Session, to server: borrowing Session
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

// The stages of a call, as a trace shows them.

/// A stage of a call.
enum CallOutcome: Equatable {
    /// It was sent to its server.
    case asked
    /// It waits until a plugin serves its key.
    case held
    case answered
    /// The caller got an error, from the broker or from the server.
    case failed(code: String)
    /// The caller has left.
    case abandoned

    /// Appends `outcome`, the `code` of an error, and how long a call took that is over.
    func append(after nanoseconds: UInt64?, to text: inout ByteBuffer) {
        text.append(#","outcome":""#)
        text.append(name)
        text.append("\"")
        if case .failed(let code) = self {
            text.append(#","code":""#)
            text.append(string: code)
            text.append("\"")
        }
        guard isOver, let nanoseconds else { return }
        text.append(#","microseconds":"#)
        text.append(decimal: nanoseconds / 1000)
    }

    private var isOver: Bool { self != .asked && self != .held }

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

// Calls that end without an answer: which ones, and why. Nothing is sent or removed here. The hub does that
// for each call, in this order.

/// A call that has to end.
struct CallEnding {
    let call: PendingCall
    /// The reply to its caller; nil if the caller has left.
    let refusal: Refusal?

    /// A call has timed out, if it still waits.
    static func late(_ number: UInt64, _ calls: borrowing Calls) -> [CallEnding] {
        guard let call = calls.find(number) else { return [] }
        call.deadline = nil
        let plugin = calls.held.plugin(of: number)
        let what = plugin.map { "the plugin \"\($0.name)\" didn't serve it" } ?? "no answer came"
        return [CallEnding(call: call, refusal: Refusal(.timeout, "\(what) within \(call.timeout) ms"))]
    }

    /// The calls that a leaving client made.
    static func made(by session: borrowing Session) -> [CallEnding] {
        session.duties?.made.reversed().map { CallEnding(call: $0, refusal: nil) } ?? []
    }

    /// The calls that a client had to answer, and won't. Callers are told in the order of their calls.
    static func unanswered(by session: borrowing Session) -> [CallEnding] {
        guard let duties = session.duties else { return [] }
        let unanswered = duties.toAnswer.sorted { $0.number < $1.number }
        return unanswered.map { CallEnding(call: $0, refusal: .providerGone) }
    }

    /// The calls of a client, made or to be answered, that aren't permitted any more.
    static func forbidden(to session: borrowing Session) -> [CallEnding] {
        guard let duties = session.duties else { return [] }
        let mayNotCall = Refusal(.forbidden, "the policy does not let this client call it any more")
        let mayNotServe = Refusal(.providerGone, "its server may not answer it any more")
        var endings: [CallEnding] = []
        for call in duties.made where !session.authorize(.call, call.key.span) {
            endings.append(CallEnding(call: call, refusal: mayNotCall))
        }
        for call in duties.toAnswer where !session.authorize(.serve, call.key.span) {
            endings.append(CallEnding(call: call, refusal: mayNotServe))
        }
        return endings
    }

    /// The held calls that a plugin won't serve any more.
    static func unserved(by plugin: SupervisedPlugin, _ calls: borrowing Calls) -> [CallEnding] {
        guard plugin.heldCalls > 0 else { return [] }
        let what = plugin.isExpected ? "may not any more" : "isn't running"
        let refusal = Refusal(.noProvider, "the plugin \"\(plugin.name)\" that would serve it \(what)")
        var endings: [CallEnding] = []
        for number in calls.held.numbers where calls.held.plugin(of: number) === plugin {
            guard let call = calls.find(number), !plugin.willServe(call.key.span) else { continue }
            endings.append(CallEnding(call: call, refusal: refusal))
        }
        return endings
    }
}

// Calls that wait for a plugin to serve their key, because the plugin is starting. Owned by `Calls`. What
// always holds: a held call is in progress, its server is the supervisor's client, and its plugin counts it.

/// The values of held calls, by the calls' numbers.
struct HeldCalls {
    /// How many bytes held calls may have.
    static let bytesMax = 16_777_216

    private struct Held {
        /// Empty if the call has none.
        let value: [UInt8]
        let bytes: Int
        let plugin: SupervisedPlugin
    }

    private var held: [UInt64: Held] = [:]
    private(set) var bytes = 0

    var isEmpty: Bool { held.isEmpty }

    /// The numbers of held calls, in the order of the calls.
    var numbers: [UInt64] { held.keys.sorted() }

    /// The plugin for which a call waits.
    func plugin(of number: UInt64) -> SupervisedPlugin? { held[number]?.plugin }

    func value(of number: UInt64) -> [UInt8]? { held[number]?.value }

    mutating func add(_ call: PendingCall, _ value: [UInt8], for plugin: SupervisedPlugin) {
        let count = call.key.count + value.count
        held[call.number] = Held(value: value, bytes: count, plugin: plugin)
        bytes += count
        plugin.heldCalls += 1
    }

    /// Removes a call if it is held, and returns the plugin for which it waited.
    mutating func remove(_ number: UInt64) -> SupervisedPlugin? {
        guard let call = held.removeValue(forKey: number) else { return nil }
        bytes -= call.bytes
        call.plugin.heldCalls -= 1
        return call.plugin
    }
}

extension HeldCalls {
    private static var always: Invariants { Invariants(of: "HeldCalls") }

    /// Each held call is in progress and waits with the supervisor, and its plugin counts it.
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
            let waits = server.map { sessions[$0].clearance?.isSupervisor == true } ?? false
            try Self.always.hold("a held call waits with the supervisor", waits, of: "call \(number)")
        }
        try Self.always.agree("its bytes are those of its calls", bytes, size)
        for (plugin, count) in counts.values {
            try Self.always.agree("a plugin counts its calls", plugin.heldCalls, count, of: plugin.name)
        }
    }
}
