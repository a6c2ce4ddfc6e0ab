// What a client says about a subscription that stands: it holds it and lets it go on, and
// tells the broker how far it has got.

import PlugboardWire

extension Subscription {
    /// Holds the subscription: the broker tells it nothing, and owes it what comes as if it
    /// read slowly, until `resume()`. What is under way is still told. A pause ends with
    /// its connection: after a reconnection the subscription goes on.
    /// - Returns: how many events wait at the broker.
    /// - Throws: `BusError.refused` with `unknownSub` where it has ended, or another failure.
    @discardableResult
    public func pause(timeout: Duration? = nil) async throws -> Int {
        try await control("pause", timeout: timeout)
    }

    /// Lets a paused subscription go on; what waits comes at once. Returns how much that was.
    @discardableResult
    public func resume(timeout: Duration? = nil) async throws -> Int {
        try await control("resume", timeout: timeout)
    }

    /// Lets `count` (1 to 1,000,000) of the events pass that wait while it is paused.
    /// - Returns: how many waited.
    /// - Throws: `BusError.refused` with `conflict` where it isn't paused.
    @discardableResult
    public func step(_ count: Int = 1, timeout: Duration? = nil) async throws -> Int {
        try await control("step", count: count, timeout: timeout)
    }

    private func control(
        _ operation: StaticString,
        count: Int? = nil,
        timeout: Duration?
    ) async throws -> Int {
        var body = RequestBody(operation)
        body.add(",\"sub\":", integer: sub)
        if let count { body.add(",\"count\":", integer: count) }
        return try await bus.link.request(body, operation, timeout: timeout).owed
    }
}

extension Link {
    /// Tells the broker that everything up to this revision was dealt with. It is no matter
    /// whether that arrives: a broker doesn't wait long, and not for who is gone.
    func acknowledge(_ sub: Int, _ revision: Int) {
        change { state in
            guard case .joined = state.phase, state.registrations[sub] != nil else { return }
            var body = RequestBody("ack")
            body.add(",\"sub\":", integer: sub)
            body.add(",\"revision\":", integer: revision)
            appendInternal(body, "ack", &state) { _ in }
        }
    }
}

extension Event {
    /// Whether later phases may wait for it.
    var needsAcknowledgement: Bool {
        (kind == .update || kind == .delete || kind == .leave) && !isInitial
    }
}
