// Questions about the bus: who observes a key, what caused a value, what a write would do, and what
// becomes of each write.

import Observables
import PlugboardWire

extension Bus {
    /// The observers that a write to a key would reach and how they are doing, its writer, and its
    /// server.
    ///
    /// ```swift
    /// let behind = try await bus.who("cart.summary").observers.filter { $0.state != .live }
    /// ```
    /// - Throws: `BusError.refused` with `badKey`, or another failure.
    public func who(_ key: String, timeout: Duration? = nil) async throws -> Audience {
        let request = ObjectWriter(op: "who").adding("key", string: key)
        return Audience(try await link.request(request, timeout: timeout).json)
    }

    /// The chain of causes of a key's newest write, back to the root.
    ///
    /// ```swift
    /// for step in try await bus.why("cart.summary").steps {
    ///     print(step.key, step.revision, step.by)
    /// }
    /// ```
    /// - Parameters:
    ///   - key: a key that was written.
    ///   - limit: how many steps at most, 1 to 10,000; without it 100.
    ///   - timeout: how long to wait for the broker's answer; by default as the bus's options say.
    /// - Throws: `BusError.refused` with `notFound` if the key was never written, or so long ago that the
    ///   broker has forgotten it; or another failure.
    public func why(_ key: String, limit: Int? = nil, timeout: Duration? = nil) async throws -> CauseChain {
        let request = ObjectWriter(op: "why").adding("key", string: key).adding("limit", limit)
        return CauseChain(try await link.request(request, timeout: timeout).json)
    }

    /// What a write would do if it were made now. The write isn't made.
    ///
    /// ```swift
    /// let outcome = try await bus.explain(.publish("seat.12", "bob", ifRevision: 0))
    /// print(outcome.refusal.map { "\($0)" } ?? "\(outcome.observers.count) would be told")
    /// ```
    /// - Throws: `BusError.refused` if the broker can't read the write. If it can read the write
    ///   but would refuse it, `Explanation.refusal` says so.
    public func explain(_ write: Write, timeout: Duration? = nil) async throws -> Explanation {
        let request = ObjectWriter(op: "explain").adding("write", json: ObjectWriter(write).bytes)
        return Explanation(try await link.request(request, timeout: timeout).json)
    }

    /// Reports what becomes of each write to keys that match one of the patterns, until the handle is
    /// disposed of or released. It continues after a reconnection, but doesn't report writes that were
    /// made meanwhile.
    ///
    /// ```swift
    /// let tracing = try await bus.trace("cart.**") { trace in
    ///     print(trace.key, trace.by, trace.observers.filter { $0.outcome != .sent }.map(\.name))
    /// }
    /// ```
    /// - Parameters:
    ///   - patterns: those of the keys whose writes are traced.
    ///   - timeout: how long to wait for the broker's answer; by default as the bus's options say.
    ///   - onEnd: called once if it ends by itself: with nil when the bus closes, or with an error if the
    ///     broker refuses the trace after a reconnection.
    ///   - handler: called on the bus's thread, one write at a time. It must not wait.
    /// - Throws: `BusError.refused`, for example `bad_pattern`, or another failure of the request.
    public func trace(
        _ patterns: String...,
        timeout: Duration? = nil,
        onEnd: @escaping @Sendable (BusError?) -> Void = { _ in },
        _ handler: @escaping @Sendable (Trace) -> Void
    ) async throws -> Disposable {
        let sub = link.state.withLock { $0.takeSub() }
        let registration = KeptSubscription(tracing: patterns, sub: sub, TraceLines(handler), onEnd: onEnd)
        try await link.subscribe(registration, timeout: timeout)
        // The handle keeps the bus alive for as long as it traces.
        return Disposable { self.link.unsubscribe(sub) }
    }
}

extension JSON {
    /// Members of replies. A missing member is empty, zero or false, because an older broker may not send
    /// it.
    func text(_ name: String) -> String { self[name]?.string ?? "" }
    func number(_ name: String) -> Int { self[name]?.integer ?? 0 }
    func flag(_ name: String) -> Bool { self[name] == .true }
    func list(_ name: String) -> [JSON] { self[name]?.elements ?? [] }
}
