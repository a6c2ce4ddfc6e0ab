// What a client can do with a live subscription: pause it, resume it, and acknowledge what it has
// handled. And with another client: end its connection.

import PlugboardWire

extension Subscription {
    /// Pauses the subscription until `resume()`. The broker sends it nothing and owes it what comes, as
    /// it does for a slow reader. Events that were sent before still arrive. A pause ends with its
    /// connection: after a reconnection the subscription is live again.
    /// - Returns: how many keys and lines the broker owes the subscription now. A key becomes one event,
    ///   or none if the subscription didn't ask for its newest value.
    /// - Throws: `BusError.refused` with `unknownSub` if the subscription has ended, or another failure.
    @discardableResult
    public func pause(timeout: Duration? = nil) async throws -> Int {
        try await control("pause", timeout: timeout)
    }

    /// Ends a pause. What the broker owes the subscription comes at once. Returns how much that was, as
    /// `pause` does.
    @discardableResult
    public func resume(timeout: Duration? = nil) async throws -> Int {
        try await control("resume", timeout: timeout)
    }

    /// Lets `count` (1 to 1,000,000) of the waiting events through during a pause.
    /// - Returns: how much the broker owed the subscription before, as `pause` does.
    /// - Throws: `BusError.refused` with `conflict` if it isn't paused.
    @discardableResult
    public func step(_ count: Int = 1, timeout: Duration? = nil) async throws -> Int {
        try await control("step", count: count, timeout: timeout)
    }

    private func control(_ operation: String, count: Int? = nil, timeout: Duration?) async throws -> Int {
        let request = ObjectWriter(op: operation).adding("sub", sub).adding("count", count)
        return try await bus.link.request(request, timeout: timeout).owed
    }
}

extension Bus {
    /// Ends the connection of a client of this user, by its number. The client learns who did that, and may
    /// connect again. Returns the revision after what it had left to be done.
    /// - Throws: `.refused` with `code == .notFound` if there is no such client.
    @discardableResult
    public func disconnect(client: Int, timeout: Duration? = nil) async throws -> Int {
        let request = ObjectWriter(op: "disconnect").adding("client", client)
        return try await link.request(request, timeout: timeout).revision
    }
}

extension Link {
    /// Acknowledges everything up to this revision. If that gets lost, no harm is done: a broker waits
    /// only a second, and not for a client that is gone.
    func acknowledge(_ sub: Int, _ revision: Int) {
        change { state in
            guard case .joined = state.phase, state.registrations[sub] != nil else { return }
            let request = ObjectWriter(op: "ack").adding("sub", sub).adding("revision", revision)
            appendInternal(request, &state)
        }
    }
}

extension Event {
    /// Whether observers of later phases may wait for this event's `ack`.
    var needsAcknowledgement: Bool {
        (kind == .update || kind == .delete || kind == .leave) && !isInitial
    }
}
