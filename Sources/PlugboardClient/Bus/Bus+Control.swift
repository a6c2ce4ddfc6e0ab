// What a client can do with a live subscription: hold it, release it, and tell the broker how far
// it has got.

import PlugboardWire

extension Subscription {
    /// Holds the subscription until `resume()`: the broker sends it nothing, and owes it what
    /// comes, as if it read slowly. Events on their way still arrive. A pause ends with its
    /// connection: after a reconnection the subscription goes on.
    /// - Returns: how many keys and lines the broker owes the subscription by then. A key becomes
    ///   one event, or none if the subscription didn't ask for its newest value.
    /// - Throws: `BusError.refused` with `unknownSub` where it has ended, or another failure.
    @discardableResult
    public func pause(timeout: Duration? = nil) async throws -> Int {
        try await control("pause", timeout: timeout)
    }

    /// Releases a paused subscription. What the broker owes it comes at once. Returns how much that
    /// was, as `pause` does.
    @discardableResult
    public func resume(timeout: Duration? = nil) async throws -> Int {
        try await control("resume", timeout: timeout)
    }

    /// Lets `count` (1 to 1,000,000) of the waiting events through while it is paused.
    /// - Returns: how much the broker owed it before, as `pause` does.
    /// - Throws: `BusError.refused` with `conflict` where it isn't paused.
    @discardableResult
    public func step(_ count: Int = 1, timeout: Duration? = nil) async throws -> Int {
        try await control("step", count: count, timeout: timeout)
    }

    private func control(
        _ operation: String,
        count: Int? = nil,
        timeout: Duration?
    ) async throws -> Int {
        let request = ObjectText(op: operation).adding("sub", sub).adding("count", count)
        return try await bus.link.request(request, timeout: timeout).owed
    }
}

extension Link {
    /// Acknowledges everything up to this revision. It doesn't matter whether that arrives: a
    /// broker waits only a second, and not for a client that is gone.
    func acknowledge(_ sub: Int, _ revision: Int) {
        change { state in
            guard case .joined = state.phase, state.registrations[sub] != nil else { return }
            let request = ObjectText(op: "ack").adding("sub", sub).adding("revision", revision)
            appendInternal(request, &state)
        }
    }
}

extension Event {
    /// Whether later phases may wait for it.
    var needsAcknowledgement: Bool {
        (kind == .update || kind == .delete || kind == .leave) && !isInitial
    }
}
