// What a remote observable can do beyond a local one: wait for its value, and make a change that other
// writers can't overwrite.

import PlugboardWire

extension RemoteObservable {
    /// Waits until the broker has sent the key's value, and returns it.
    /// - Throws: `BusError.refused` if the key is invalid, `.timedOut`, `.closed`.
    @discardableResult
    public func ready(timeout: Duration? = nil) async throws -> Value {
        // The subscription was sent before this barrier, so its snapshot has ended when the answer comes.
        if !isReady, state.withLock({ $0.end == nil }) {
            _ = try await bus.link.request(ObjectWriter(op: "sync"), timeout: timeout)
        }
        if let end = state.withLock({ $0.end }) { throw end }
        return value
    }

    /// Changes the value in one step, even against other writers on the bus. If another write comes
    /// first, calls `change` again with the newer value. Returns the result of `change` when the broker
    /// has the new value and observers have got it.
    ///
    /// - Throws: what `change` throws, `BusError.timedOut` if other writes always come first, or another
    ///   failure of publishing.
    @discardableResult
    public func modify<Result: Sendable>(
        timeout: Duration? = nil, _ change: (inout Value) throws -> Result
    ) async throws -> Result {
        try await ready(timeout: timeout)
        let limit = timeout ?? bus.link.options.requestTimeout
        let start = ContinuousClock.now
        while true {
            let (base, revision) = state.withLock { ($0.known, $0.revision) }
            var new = base
            let result = try change(&new)
            do {
                try await bus.publish(key, new, ifRevision: revision, timeout: limit)
                return result
            } catch let error as BusError where error.isConflict {
                // The write that caused the conflict comes before the refusal. If its event didn't change
                // the revision, its value can't be decoded, and another attempt would not help.
                if state.withLock({ $0.revision }) == revision { throw error }
                if start.duration(to: .now) > limit { throw BusError.timedOut(operation: "modify") }
            }
        }
    }
}

extension Bus {
    /// A key as a value that can be read, changed and observed.
    ///
    /// Returns at once. Until the broker has answered, the value is the default; `ready()` waits for the
    /// answer. It is the default while the key is absent, too. Keep the observable as long as you observe.
    public func observable<Value: Codable & Sendable>(
        _ key: String, default defaultValue: Value
    ) -> RemoteObservable<Value> {
        RemoteObservable(bus: self, key: key, default: defaultValue)
    }
}
