// What a client says about a subscription that stands: it holds it and lets it go on, and
// tells the broker how far it has got.

import PlugboardWire

extension Subscription {
    /// Holds the subscription: the broker tells it nothing, and owes it what comes as if it
    /// read slowly, until `resume()`. What is under way is still told. A pause ends with
    /// its connection: after a reconnection the subscription goes on.
    /// - Returns: how many keys and lines the subscription is owed by then. A key comes to one event,
    ///   or to none where its newest value isn't asked for.
    /// - Throws: `BusError.refused` with `unknownSub` where it has ended, or another failure.
    @discardableResult
    public func pause(timeout: Duration? = nil) async throws -> Int {
        try await control("pause", timeout: timeout)
    }

    /// Lets a paused subscription go on; what it is owed comes at once. Returns how much that was, as
    /// `pause` does.
    @discardableResult
    public func resume(timeout: Duration? = nil) async throws -> Int {
        try await control("resume", timeout: timeout)
    }

    /// Lets `count` (1 to 1,000,000) of the events pass that wait while it is paused.
    /// - Returns: how much it was owed before that, as `pause` does.
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
