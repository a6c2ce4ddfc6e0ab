// The room of calls: services, calls in progress, and which of these wait for a plugin that is starting.
//
// What always holds: each pattern has at most one service, which its client lists. Each call is listed by its
// caller and by the client that has to answer it. A held call is in progress. The room knows clients' duties,
// but nothing of what is sent to them.

import PlugboardMemory
import PlugboardWire

/// The services and calls of a bus. Used by the loop's thread alone.
struct Calls: ~Copyable {
    private let services = PatternTree<Service>()
    private var calls: [UInt64: PendingCall] = [:]
    /// The number of the newest call, from 1.
    private var lastNumber: UInt64 = 0
    private var asked = AskedClients()
    private(set) var counts = CallCounts()
    /// Calls that wait until a plugin serves their key.
    private(set) var held = HeldCalls()

    init() {}

    // MARK: Services

    /// The service of exactly this pattern.
    func service(at pattern: Span<UInt8>) -> Service? { services.node(of: pattern)?.entries.first }

    /// The service for a call of a well-formed key: the one with the most specific pattern.
    func server(of key: Span<UInt8>) -> Service? { services.first(matching: key) }

    /// Adds a service at a well-formed pattern that nobody serves yet. Returns false if finding a service
    /// could then take too many steps.
    mutating func serve(_ pattern: Span<UInt8>, _ session: SessionHandle, _ sessions: inout SessionTable)
        -> Bool
    {
        let service = Service(pattern: pattern, session: session)
        let (node, index) = services.insert(pattern, service)
        guard services.steps <= Limits.patternStepsMax else {
            services.remove(at: index, from: node)
            return false
        }
        sessions[session].makeDuties().add(service)
        return true
    }

    /// Ends a service. Calls that it got may still be answered.
    mutating func end(_ service: Service, _ sessions: inout SessionTable) {
        if let node = services.node(of: service.pattern.span) { services.remove(at: 0, from: node) }
        sessions[service.session].duties?.remove(service)
        sessions[service.session].dropEmptyDuties()
    }

    // MARK: Calls

    /// How many calls are in progress.
    var count: Int { calls.count }

    func find(_ number: UInt64) -> PendingCall? { calls[number] }

    /// Whether a call was sent to a client. The call may be over.
    func wasAsked(_ client: UInt64, _ number: UInt64) -> Bool { asked.wasAsked(client, number) }

    /// Begins a call, and lists it on both sides.
    mutating func insert(
        id: Span<UInt8>,
        key: Span<UInt8>,
        timeout: UInt32,
        cause: WriteCause = .none,
        at start: UInt64,
        from caller: SessionHandle,
        to server: SessionHandle,
        _ sessions: inout SessionTable
    ) -> PendingCall {
        lastNumber += 1
        let line = sessions[caller].line
        let call = PendingCall(
            number: lastNumber,
            id: id,
            key: key,
            timeout: timeout,
            cause: cause,
            at: start,
            from: caller,
            line,
            to: server
        )
        calls[lastNumber] = call
        counts.noteAsked()
        asked.note(sessions[server].client, for: lastNumber)
        sessions[caller].makeDuties().addMade(call)
        sessions[server].makeDuties().addToAnswer(call)
        return call
    }

    /// A call is sent to the client of a service.
    mutating func noteSent(_ call: PendingCall, by service: Service) {
        call.service = service
        service.counts.noteAsked()
    }

    /// A call has ended with an answer or an error.
    mutating func noteEnd(of call: PendingCall, isAnswer: Bool, at now: UInt64) {
        let span = now - min(now, call.start)
        counts.noteEnd(isAnswer: isAnswer, after: span)
        call.service?.counts.noteEnd(isAnswer: isAnswer, after: span)
    }

    /// Returns the counts, and restarts the measurement of times.
    mutating func takeCounts() -> CallCounts {
        defer { counts.resetTimes() }
        return counts
    }

    /// Moves a call to another server.
    mutating func move(_ call: PendingCall, to server: SessionHandle, _ sessions: inout SessionTable) {
        asked.note(sessions[server].client, for: call.number)
        let before = call.server
        sessions[before].duties?.removeToAnswer(call)
        sessions[before].dropEmptyDuties()
        call.server = server
        sessions[server].makeDuties().addToAnswer(call)
    }

    /// Ends a call, and removes it on both sides.
    mutating func remove(_ call: PendingCall, _ sessions: inout SessionTable) {
        calls[call.number] = nil
        let (caller, server) = (call.caller, call.server)
        sessions[caller].duties?.removeMade(call)
        sessions[server].duties?.removeToAnswer(call)
        sessions[caller].dropEmptyDuties()
        sessions[server].dropEmptyDuties()
    }

    // MARK: Held calls

    /// Keeps the value of a call until a plugin serves its key.
    mutating func hold(_ call: PendingCall, _ value: Span<UInt8>, for plugin: SupervisedPlugin) {
        held.add(call, Array(value), for: plugin)
    }

    /// A call no longer waits for a plugin. Returns the plugin, if it waited for one.
    mutating func letGo(_ call: PendingCall) -> SupervisedPlugin? { held.remove(call.number) }
}

extension Calls {
    private static var always: Invariants { Invariants(of: "Calls") }

    /// Both sides and a deadline know each call.
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
        try held.checkInvariants(self, sessions)
        try checkServices(living, sessions)
    }

    private func checkServices(
        _ living: borrowing Living,
        _ sessions: borrowing SessionTable
    ) throws(BrokenInvariant) {
        var known = 0
        for session in living.sessions {
            guard let duties = sessions[session].duties else { continue }
            for (place, service) in duties.services.enumerated() {
                known += 1
                let pattern = service.pattern.span
                let isItsOwn = service.session == session && service.place == place
                try Self.always.hold("a service knows its place", isItsOwn, of: String(pattern))
                let isFound = self.service(at: pattern) === service
                try Self.always.hold("a service stands at its pattern", isFound, of: String(pattern))
            }
        }
        try Self.always.agree("nobody serves who is gone", try services.checkInvariants(), known)
    }
}
