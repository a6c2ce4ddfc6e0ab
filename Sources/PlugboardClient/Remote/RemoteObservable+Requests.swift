// What a remote observable has beyond a local one: it can be waited for, and it can be
// changed against what others do.

extension RemoteObservable {
    /// Waits until the broker has told what the key holds, and returns that value.
    /// - Throws: `BusError.refused` for what is not a key, `.timedOut`, `.closed`.
    @discardableResult
    public func ready(timeout: Duration? = nil) async throws -> Value {
        // The subscription went ahead of this barrier; its answer is the snapshot's end.
        if !isReady, state.withLock({ $0.end == nil }) {
            _ = try await bus.link.request(RequestBody("sync"), "sync", timeout: timeout)
        }
        if let end = state.withLock({ $0.end }) { throw end }
        return value
    }

    /// Changes the value in one step against all other writers of the bus: where one of
    /// them was faster, `change` is called again with the newer value. Returns what
    /// `change` returns, once the broker has the new value and observers know it.
    ///
    /// - Throws: what `change` throws, `BusError.timedOut` where others are always faster,
    ///   or another failure of publishing.
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
                // What made it a conflict came ahead of the refusal. Where nothing did, the
                // newer value can't be decoded, and trying again would change nothing.
                if state.withLock({ $0.revision }) == revision { throw error }
                if start.duration(to: .now) > limit { throw BusError.timedOut(operation: "modify") }
            }
        }
    }
}

extension Bus {
    /// A key as a value that can be read, changed and observed.
    ///
    /// Returns at once: until the broker has answered, which `ready()` waits for, the value
    /// is the default. Keep the observable for as long as you observe.
    ///
    /// - Parameter defaultValue: the value while the key is absent.
    public func observable<Value: Codable & Sendable>(
        _ key: String,
        default defaultValue: Value
    ) -> RemoteObservable<Value> {
        RemoteObservable(bus: self, key: key, default: defaultValue)
    }
}
