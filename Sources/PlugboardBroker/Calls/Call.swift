// Calls that wait for their answer. Each is known to the client that made it, to the one
// that is to answer it, and to the table, which owns it.

import PlugboardMemory
import PlugboardWire

typealias CallReference = UnsafeMutablePointer<Call>

/// One call under way.
struct Call: ~Copyable {
    /// Its name, unique while the broker runs.
    let number: UInt64
    let caller: SessionReference
    /// Who is to answer it; while nobody serves it, who is to see to that.
    fileprivate(set) var server: SessionReference
    /// The caller's line that made it, for a reply to a call without an `id`.
    let line: UInt64
    /// Milliseconds that it waits.
    let timeout: UInt32
    /// The `id` and the key, one behind the other.
    private let text: UnsafeMutableRawBufferPointer
    private let idCount: Int
    /// When it has waited long enough.
    var deadline: DeadlineTicket?
    /// Its place among the calls that its caller made.
    var callerPlace: Int32 = 0
    /// Its place among the calls that its server is to answer.
    var serverPlace: Int32 = 0

    init(
        number: UInt64,
        id: Span<UInt8>,
        key: Span<UInt8>,
        timeout: UInt32,
        from caller: SessionReference,
        to server: SessionReference
    ) {
        self.number = number
        self.caller = caller
        self.server = server
        self.timeout = timeout
        line = caller.pointee.line
        idCount = id.count
        text = .allocate(byteCount: id.count + key.count, alignment: 1)
        UnsafeMutableRawBufferPointer(rebasing: text[..<id.count]).copyMemory(from: id.raw)
        UnsafeMutableRawBufferPointer(rebasing: text[id.count...]).copyMemory(from: key.raw)
    }

    deinit {
        text.deallocate()
    }

    /// The caller's `id` as it was written; empty where there was none.
    var id: Span<UInt8> { Span(kept: text)[..<idCount] }
    var key: Span<UInt8> { Span(kept: text)[idCount...] }
}

/// All calls under way. Owns them.
struct CallTable: ~Copyable {
    private var calls: [UInt64: CallReference] = [:]
    /// The number of the last call that was made, from 1.
    private(set) var lastNumber: UInt64 = 0
    private var asked = AskedClients()

    init() {}

    deinit {
        for call in calls.values { Self.destroy(call) }
    }

    /// How many wait.
    var count: Int { calls.count }

    func find(_ number: UInt64) -> CallReference? {
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
        from caller: SessionReference,
        to server: SessionReference
    ) -> CallReference {
        lastNumber += 1
        let call = CallReference.allocate(capacity: 1)
        call.initialize(
            to: Call(number: lastNumber, id: id, key: key, timeout: timeout, from: caller, to: server)
        )
        calls[lastNumber] = call
        asked.note(server.pointee.client, for: lastNumber)
        caller.pointee.makeDuties().pointee.addMade(call)
        server.pointee.makeDuties().pointee.addToAnswer(call)
        return call
    }

    /// Has another server answer a call.
    mutating func move(_ call: CallReference, to server: SessionReference) {
        asked.note(server.pointee.client, for: call.pointee.number)
        let before = call.pointee.server
        before.pointee.duties?.pointee.removeToAnswer(call)
        before.pointee.dropEmptyDuties()
        call.pointee.server = server
        server.pointee.makeDuties().pointee.addToAnswer(call)
    }

    /// Ends a call, and takes it out on both sides.
    mutating func remove(_ call: CallReference) {
        calls[call.pointee.number] = nil
        let (caller, server) = (call.pointee.caller, call.pointee.server)
        caller.pointee.duties?.pointee.removeMade(call)
        server.pointee.duties?.pointee.removeToAnswer(call)
        Self.destroy(call)
        caller.pointee.dropEmptyDuties()
        server.pointee.dropEmptyDuties()
    }

    private static func destroy(_ call: CallReference) {
        call.deinitialize(count: 1)
        call.deallocate()
    }
}

extension CallTable {
    private static var always: Invariants { Invariants(of: "CallTable") }

    /// Each call is known to both sides and to its deadline.
    func checkInvariants(
        _ living: borrowing Living,
        _ deadlines: borrowing Deadlines
    ) throws(BrokenInvariant) {
        for (number, call) in calls {
            let name = "call \(number)"
            try Self.always.agree("a call is found by its number", call.pointee.number, number)
            let (caller, server) = (call.pointee.caller, call.pointee.server)
            let areThere = living.sessions.contains(caller) && living.sessions.contains(server)
            try Self.always.hold("who calls and who answers is there", areThere, of: name)
            let isMade = caller.pointee.duties?.pointee.has(made: call) ?? false
            try Self.always.hold("its caller knows it", isMade, of: name)
            let isAsked = server.pointee.duties?.pointee.has(toAnswer: call) ?? false
            try Self.always.hold("its server knows it", isAsked, of: name)
            let end = call.pointee.deadline.flatMap { deadlines.deadline(of: $0) }
            try Self.always.hold("a call ends in time", end == .call(number), of: name)
        }
        var (made, toAnswer) = (0, 0)
        for session in living.sessions {
            made += session.pointee.duties?.pointee.made.count ?? 0
            toAnswer += session.pointee.duties?.pointee.toAnswer.count ?? 0
        }
        try Self.always.agree("callers know no others", calls.count, made)
        try Self.always.agree("servers know no others", calls.count, toAnswer)
    }
}
