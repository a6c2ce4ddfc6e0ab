// What a remote observable has beyond a local one: a wait for its value, and a change that other
// writers can't overwrite.

import PlugboardWire

extension RemoteObservable {
    /// Waits until the broker has sent the key's value, and returns it.
    /// - Throws: `BusError.refused` for what is not a key, `.timedOut`, `.closed`.
    @discardableResult
    public func ready(timeout: Duration? = nil) async throws -> Value {
        // The subscription went ahead of this barrier; its answer is the snapshot's end.
        if !isReady, state.withLock({ $0.end == nil }) {
            _ = try await bus.link.request(ObjectText(op: "sync"), timeout: timeout)
        }
        if let end = state.withLock({ $0.end }) { throw end }
        return value
    }

    /// Changes the value in one step, even against other writers on the bus: if one of them was
    /// faster, `change` is called again with the newer value. Returns what `change` returns, once
    /// the broker has the new value and observers have got it.
    ///
    /// - Throws: what `change` throws, `BusError.timedOut` if others are always faster, or another
    ///   failure of publishing.
    @discardableResult
    public func modify<Result: Sendable>(
        timeout: Duration? = nil,
        _ change: (inout Value) throws -> Result
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
                // The write that caused the conflict came before the refusal. If none came, the
                // newer value can't be decoded, and another attempt would change nothing.
                if state.withLock({ $0.revision }) == revision { throw error }
                if start.duration(to: .now) > limit { throw BusError.timedOut(operation: "modify") }
            }
        }
    }
}

extension Bus {
    /// A key as a value that can be read, changed and observed.
    ///
    /// Returns at once. Until the broker has answered, the value is the default; `ready()` waits
    /// for that. Keep the observable for as long as you observe.
    ///
    /// - Parameter defaultValue: the value while the key is absent.
    public func observable<Value: Codable & Sendable>(
        _ key: String,
        default defaultValue: Value
    ) -> RemoteObservable<Value> {
        RemoteObservable(bus: self, key: key, default: defaultValue)
    }
}
