// Calls that wait for their answer. Each is known to the client that made it, to the one
// that is to answer it, and to the table, which owns it.

import PlugboardMemory
import PlugboardWire

/// One call under way.
final class Call {
    /// Its name, unique while the broker runs.
    let number: UInt64
    let caller: SessionHandle
    /// Who is to answer it; while nobody serves it, who is to see to that.
    fileprivate(set) var server: SessionHandle
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

    fileprivate init(
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

/// All calls under way. Owns them.
struct CallTable: ~Copyable {
    private var calls: [UInt64: Call] = [:]
    /// The number of the last call that was made, from 1.
    private(set) var lastNumber: UInt64 = 0
    private var asked = AskedClients()

    init() {}

    /// How many wait.
    var count: Int { calls.count }

    func find(_ number: UInt64) -> Call? {
        calls[number]
    }

    /// Whether a client was asked a call, which may be over.
    func wasAsked(_ client: UInt64, _ number: UInt64) -> Bool {
        asked.wasAsked(client, number)
    }

    /// Begins a call, and enters it with both sides.
    mutating func insert(
        id: Span<UInt8>,
        key: Span<UInt8>,
        timeout: UInt32,
        from caller: SessionHandle,
        to server: SessionHandle,
        _ sessions: inout SessionTable
    ) -> Call {
        lastNumber += 1
        let line = sessions[caller].line
        let call = Call(
            number: lastNumber,
            id: id,
            key: key,
            timeout: timeout,
            from: caller,
            line,
            to: server
        )
        calls[lastNumber] = call
        asked.note(sessions[server].client, for: lastNumber)
        sessions[caller].makeDuties().addMade(call)
        sessions[server].makeDuties().addToAnswer(call)
        return call
    }

    /// Has another server answer a call.
    mutating func move(_ call: Call, to server: SessionHandle, _ sessions: inout SessionTable) {
        asked.note(sessions[server].client, for: call.number)
        let before = call.server
        sessions[before].duties?.removeToAnswer(call)
        sessions[before].dropEmptyDuties()
        call.server = server
        sessions[server].makeDuties().addToAnswer(call)
    }

    /// Ends a call, and takes it out on both sides.
    mutating func remove(_ call: Call, _ sessions: inout SessionTable) {
        calls[call.number] = nil
        let (caller, server) = (call.caller, call.server)
        sessions[caller].duties?.removeMade(call)
        sessions[server].duties?.removeToAnswer(call)
        sessions[caller].dropEmptyDuties()
        sessions[server].dropEmptyDuties()
    }
}

extension CallTable {
    private static var always: Invariants { Invariants(of: "CallTable") }

    /// Each call is known to both sides and to its deadline.
    func checkInvariants(
        _ living: borrowing Living,
        _ deadlines: borrowing Deadlines,
        _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        for (number, call) in calls {
            let name = "call \(number)"
            try Self.always.agree("a call is found by its number", call.number, number)
            let (caller, server) = (call.caller, call.server)
            let areThere = living.sessions.contains(caller) && living.sessions.contains(server)
            try Self.always.hold("who calls and who answers is there", areThere, of: name)
            let isMade = sessions[caller].duties?.has(made: call) ?? false
            try Self.always.hold("its caller knows it", isMade, of: name)
            let isAsked = sessions[server].duties?.has(toAnswer: call) ?? false
            try Self.always.hold("its server knows it", isAsked, of: name)
            let end = call.deadline.flatMap { deadlines.deadline(of: $0) }
            try Self.always.hold("a call ends in time", end == .call(number), of: name)
        }
        var (made, toAnswer) = (0, 0)
        for session in living.sessions {
            made += sessions[session].duties?.made.count ?? 0
            toAnswer += sessions[session].duties?.toAnswer.count ?? 0
        }
        try Self.always.agree("callers know no others", calls.count, made)
        try Self.always.agree("servers know no others", calls.count, toAnswer)
    }
}
