// The room of calls: services, calls in progress, and which of these wait for a plugin that is starting.
//
// What always holds: the services of a pattern stand in line at its end, and the first gets the calls; each service
// is listed by its client. Each call is listed by its caller and by the client that has to answer it. A held call is in
// progress. The room knows clients' calls, but nothing of what is sent to them.

import PlugboardMemory
import PlugboardWire

struct Calls: ~Copyable {
    private let lines = PatternTree<Service>()
    private var calls: [UInt64: PendingCall] = [:]
    private(set) var asked = AskedClients()
    private(set) var counts = CallCounts()
    /// How much waits for plugins to serve it; 0 if nothing does.
    private(set) var heldBytes = 0

    // MARK: Services

    /// Who serves a pattern: the first gets the calls, and the others wait to take over.
    func services(at pattern: Span<UInt8>) -> [Service] { lines.node(of: pattern)?.entries ?? [] }

    /// The service for a call of a well-formed key: the one with the most specific pattern.
    func server(of key: Span<UInt8>) -> Service? { lines.first(matching: key) }

    /// A client serves a pattern, behind those that serve it already. Returns false if finding a service could then
    /// take too many steps.
    mutating func serve(_ pattern: Span<UInt8>, _ session: SessionHandle, _ sessions: inout SessionTable)
        -> Bool
    {
        let line = lines.insert(pattern) { Service(in: $0, session: session) }
        guard let service = line.entries.last, lines.steps <= Limits.patternStepsMax else {
            lines.remove(from: line) { $0.session == session }
            return false
        }
        sessions[session].makeCalls().services.append(service)
        return true
    }

    /// Ends a service. Calls that it got may still be answered. Returns the one that takes over, if any.
    mutating func end(_ service: Service, _ sessions: inout SessionTable) -> Service? {
        // A client that leaves ends the last one first, so that this looks at one.
        if let calls = sessions[service.session].calls,
            let place = calls.services.lastIndex(where: { $0 === service })
        {
            calls.services.remove(at: place)
        }
        sessions[service.session].dropEmptyCalls()
        let (line, isSpare) = (service.line, service.isSpare)
        lines.remove(from: line) { $0 === service }
        return isSpare ? nil : line.entries.first
    }

    // MARK: Calls

    var count: Int { calls.count }

    func find(_ number: UInt64) -> PendingCall? { calls[number] }

    var nextNumber: UInt64 { asked.last + 1 }

    mutating func insert(_ call: PendingCall, _ sessions: inout SessionTable) {
        calls[call.number] = call
        counts.asked &+= 1
        asked.set(sessions[call.server].client, for: call.number)
        sessions[call.caller].makeCalls().made.append(call, as: call.number)
        sessions[call.server].makeCalls().toAnswer.append(call, as: call.number)
    }

    /// A call waits until a plugin serves it.
    mutating func hold(_ call: PendingCall, _ value: [UInt8], for plugin: SupervisedPlugin) {
        call.held = (plugin, value)
        plugin.heldCalls.append(call, as: call.number)
        heldBytes += call.heldBytes
    }

    /// A call waits no more. Returns the plugin and the value of the call, if it did.
    mutating func endHolding(_ call: PendingCall) -> (plugin: SupervisedPlugin, value: [UInt8])? {
        heldBytes -= call.heldBytes
        call.held?.plugin.heldCalls.remove(call.number)
        return call.held.take()
    }

    mutating func countEnd(of call: PendingCall, isAnswer: Bool, at now: UInt64) {
        let span = now - min(now, call.start)
        counts.countEnd(isAnswer: isAnswer, after: span)
        call.service?.counts.countEnd(isAnswer: isAnswer, after: span)
    }

    mutating func takeCounts() -> CallCounts {
        defer { counts.times = Times() }
        return counts
    }

    mutating func move(_ call: PendingCall, to server: SessionHandle, _ sessions: inout SessionTable) {
        asked.set(sessions[server].client, for: call.number)
        removeFromServer(call, &sessions)
        call.server = server
        sessions[server].makeCalls().toAnswer.append(call, as: call.number)
    }

    mutating func remove(_ call: PendingCall, _ sessions: inout SessionTable) {
        calls[call.number] = nil
        sessions[call.caller].calls?.made.remove(call.number)
        sessions[call.caller].dropEmptyCalls()
        removeFromServer(call, &sessions)
    }

    private func removeFromServer(_ call: PendingCall, _ sessions: inout SessionTable) {
        sessions[call.server].calls?.toAnswer.remove(call.number)
        sessions[call.server].dropEmptyCalls()
    }
}

extension Calls: Checked {
    func checkInvariants(
        _ deadlines: borrowing Deadlines, _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        for (number, call) in calls {
            let name = "call \(number)"
            try Self.always.agree("a call is found by its number", call.number, number)
            let (caller, server) = (call.caller, call.server)
            let areThere = sessions.contains(caller) && sessions.contains(server)
            try Self.always.hold("who calls and who answers is there", areThere, of: name)
            let isMade = sessions[caller].calls?.made[number] === call
            try Self.always.hold("its caller knows it", isMade, of: name)
            let isAsked = sessions[server].calls?.toAnswer[number] === call
            try Self.always.hold("its server knows it", isAsked, of: name)
            let end = call.deadline.flatMap { deadlines.deadline(of: $0) }
            try Self.always.hold("a call ends in time", end == .call(number), of: name)
        }
        var (made, toAnswer) = (0, 0)
        for session in sessions.handles {
            made += sessions[session].calls?.made.count ?? 0
            toAnswer += sessions[session].calls?.toAnswer.count ?? 0
        }
        try Self.always.agree("callers know no others", calls.count, made)
        try Self.always.agree("servers know no others", calls.count, toAnswer)
        try checkHeld(sessions)
        try checkServices(sessions)
    }

    private func checkHeld(_ sessions: borrowing SessionTable) throws(BrokenInvariant) {
        var size = 0
        var counts: [ObjectIdentifier: (plugin: SupervisedPlugin, count: Int)] = [:]
        for (number, call) in calls {
            guard let plugin = call.held?.plugin else { continue }
            size += call.heldBytes
            counts[ObjectIdentifier(plugin), default: (plugin, 0)].count += 1
            let waits = sessions[call.server].grant?.isSupervisor == true
            try Self.always.hold("a held call waits with the supervisor", waits, of: "call \(number)")
            let isKnown = plugin.heldCalls[number] === call
            try Self.always.hold("a plugin knows the calls that wait for it", isKnown, of: plugin.name)
        }
        try Self.always.agree("it counts the bytes of held calls", heldBytes, size)
        for (plugin, count) in counts.values {
            try Self.always.agree("no other calls wait", plugin.heldCalls.count, count, of: plugin.name)
        }
    }

    private func checkServices(_ sessions: borrowing SessionTable) throws(BrokenInvariant) {
        var known = 0
        for session in sessions.handles {
            for service in sessions[session].calls?.services ?? [] {
                known += 1
                let pattern = service.pattern
                let isItsOwn = service.session == session
                try Self.always.hold("a service is its client's", isItsOwn, of: String(pattern.span))
                let isFound = services(at: pattern.span).contains { $0 === service }
                let words: StaticString = "a service stands in the line of its pattern"
                try Self.always.hold(words, isFound, of: String(pattern.span))
            }
        }
        try Self.always.agree("nobody serves who is gone", try lines.checkInvariants(), known)
    }
}

// A client's promise to answer the calls of a key, or of all keys that match a pattern. Exists from its
// `serve` to its `unserve` or the end of its session.

final class Service {
    /// The end of its pattern, which has those that serve the same. Stays until the service ends.
    fileprivate unowned let line: PatternNode<Service>
    let session: SessionHandle
    var counts = CallCounts()

    fileprivate init(in line: PatternNode<Service>, session: SessionHandle) {
        self.line = line
        self.session = session
    }

    var pattern: [UInt8] { line.pattern }

    /// It stands in line, and gets no calls yet.
    var isSpare: Bool { line.entries.first !== self }

    /// Those that wait to take over, if it gets the calls.
    var spares: ArraySlice<Service> { line.entries.dropFirst() }
}

// A session's services and calls. Exists only while there are any; most clients never have one.

final class SessionCalls {
    var services: [Service] = []
    /// The calls without an answer yet: those that it made, and those that it has to answer.
    var made = CallList()
    var toAnswer = CallList()

    var isEmpty: Bool { services.isEmpty && made.isEmpty && toAnswer.isEmpty }
}

typealias CallList = WaitingList<UInt64, PendingCall>

// Which clients the latest calls were sent to. With this, a late answer is told from an answer that nobody
// asked for, even if the call is over. Owned by `Calls`.

struct AskedClients {
    static let callsMax = 65_536

    private let capacity: Int
    /// A client's number for each call. Grows up to `capacity`; then the oldest are overwritten.
    private var clients: [UInt64] = []
    /// The latest call.
    private(set) var last: UInt64 = 0

    init(capacity: Int = Self.callsMax) {
        self.capacity = capacity
    }

    /// Notes the client of a call: of the next call, or of an earlier one. Numbers begin at 1.
    mutating func set(_ client: UInt64, for call: UInt64) {
        let place = place(of: call)
        if place == clients.count { clients.append(client) } else { clients[place] = client }
        last = max(last, call)
    }

    func wasAsked(_ client: UInt64, _ call: UInt64) -> Bool {
        guard call > 0, call <= last, last - call < UInt64(capacity) else { return false }
        return clients[place(of: call)] == client
    }

    private func place(of call: UInt64) -> Int {
        Int((call - 1) % UInt64(capacity))
    }
}

// How calls end: for `$broker.stats` all of them, and for `$broker.services` those of each service. What
// always holds: each call that was made was answered, has failed, or still waits.

struct CallCounts: BitwiseCopyable {
    var asked: UInt64 = 0
    private(set) var answered: UInt64 = 0
    private(set) var failed: UInt64 = 0
    fileprivate(set) var times = Times()

    /// A call has ended after `span` nanoseconds. `isAnswer` is false if its server answered with an error.
    mutating func countEnd(isAnswer: Bool, after span: UInt64) {
        guard isAnswer else { return failed &+= 1 }
        answered &+= 1
        times.add(span)
    }

    /// Appends `asked`, `answered` and `failed`, and `mean` and `max` in microseconds.
    func appendMembers(to value: inout ByteBuffer) {
        value.append(member: "asked", asked, isFirst: true)
        value.append(member: "answered", answered)
        value.append(member: "failed", failed)
        value.append(member: "mean", times.mean)
        value.append(member: "max", times.max)
    }
}
