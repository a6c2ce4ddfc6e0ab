// Calls: asking the client that serves a key, and serving keys. Everything may be called from any thread or
// task. Handlers run one at a time in the order of their calls, unless they are served concurrently.

import Observables
import PlugboardWire

extension Bus {
    /// Calls the server of a key, and returns the answer as a type of yours (or as `JSON`).
    ///
    /// ```swift
    /// let items: Int = try await bus.call("cart.add", ["sku": "B07"], timeout: .seconds(2))
    /// ```
    /// - Parameters:
    ///   - key: the key that is served.
    ///   - value: what the server gets, any Encodable.
    ///   - type: the type of the answer, if it doesn't follow from where the answer goes.
    ///   - cause: the revision that caused the call. By default that of the event that is being handled.
    ///   - timeout: how long to wait, from a millisecond to an hour. By default as long as for any
    ///     request.
    /// - Throws: `.refused` with the server's own code; with `noProvider` if nobody serves the key; or
    ///   with `providerGone` if the server left before it answered. `.timedOut`; a later answer is
    ///   dropped. `.waitsForItself` in a handler of this bus, if this bus serves the key and not
    ///   concurrently. `.undecodable`. Also throws what every request throws.
    public func call<Answer: Decodable>(
        _ key: String,
        _ value: some Encodable,
        as type: Answer.Type = Answer.self,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Answer {
        if try await waitsForItself(key) { throw BusError.waitsForItself(key: key) }
        let timeout = timeout ?? link.options.requestTimeout
        let request = ObjectWriter(op: "call").adding("key", string: key)
            .adding("value", json: try JSON(encoding: value).bytes)
            .adding("timeout", max(1, timeout.milliseconds)).adding("cause", cause)
        do {
            // The broker measures the time. It gets a second more to report the time-out.
            let reply = try await link.request(request, timeout: timeout + .seconds(1))
            return try reply.value.decode(as: type, for: key)
        } catch let error as BusError where error.code == .timeout {
            throw BusError.timedOut(operation: "call")
        }
    }

    /// Answers calls of a key, or of all keys that match a pattern, until the handle is disposed of
    /// or released. If several clients serve matching patterns, the most specific one gets the
    /// call.
    ///
    /// ```swift
    /// let serving = try await bus.serve("cart.add") { (request: AddToCart) async throws -> Int in
    ///     if request.quantity > 9 { throw CallError("too_many", "nine at most") }
    ///     return request.quantity
    /// }
    /// ```
    /// Serving continues after a reconnection. If another client serves the key by then, serving
    /// ends with a fault, unless it is a spare.
    ///
    /// **Spares.** Several programs may serve a key as `.spare`: one of them does, and the next one takes over when it
    /// ends, in the order in which they came.
    ///
    /// **Order.** All handlers of a bus run one at a time, in the order in which the calls came, whatever
    /// key they serve. A handler of `subscribe(inOrder:)` is among them. So what one client emits and calls
    /// is carried out in its order. A slow handler delays all others: see `serve(concurrently:)`.
    /// - Parameters:
    ///   - key: a key or a pattern.
    ///   - role: whether to stand in line if another client serves it; by default not.
    ///   - timeout: how long to wait for the broker's answer; by default as the bus's options say.
    ///   - handler: called for each call. Its result may be any Encodable. If it throws a `CallError`, the
    ///     caller gets that. Any other error becomes one with the code `failed`, and a request that can't be
    ///     decoded one with `bad_request`. An answer that can't be sent is a fault, and the caller gets `limit` if it
    ///     is too long, and otherwise `failed`. What the handler writes names the caller's ``Cause``. If it calls a
    ///     key that waits for it, that throws `BusError.waitsForItself`.
    /// - Throws: `.refused` with `conflict` if the key or the pattern is served already, or with
    ///   `badPattern`, `forbidden` or `limit`. Also throws what every request throws.
    public func serve<Request: Decodable & SendableMetatype, Answer: Encodable & SendableMetatype>(
        _ key: String,
        as role: ServerRole = .only,
        timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Request) async throws -> Answer
    ) async throws -> Disposable {
        try await serve(key, as: role, timeout: timeout) { (call: Call) in try await handler(call.request()) }
    }

    /// The same for a handler that gets the whole call: its key, its caller, and its value as JSON.
    public func serve<Answer: Encodable & SendableMetatype>(
        _ key: String,
        as role: ServerRole = .only,
        timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) async throws -> Disposable {
        try await serve(CallServer(key, isConcurrent: false, role, handler), timeout: timeout)
    }

    /// Serves without an order: each call gets a task of its own, and many may run at the same time. So a
    /// call that takes long delays no other, and handlers may call this bus.
    ///
    /// ```swift
    /// let serving = try await bus.serve(concurrently: "covers.find") { (sku: String) async throws -> JSON?
    /// in
    ///     try await bus.call("covers.load", sku)
    /// }
    /// ```
    /// Otherwise it is like `serve`.
    public func serve<Request: Decodable & SendableMetatype, Answer: Encodable & SendableMetatype>(
        concurrently key: String,
        as role: ServerRole = .only,
        timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Request) async throws -> Answer
    ) async throws -> Disposable {
        try await serve(concurrently: key, as: role, timeout: timeout) { (call: Call) in
            try await handler(call.request())
        }
    }

    /// The same for a handler that gets the whole call.
    public func serve<Answer: Encodable & SendableMetatype>(
        concurrently key: String,
        as role: ServerRole = .only,
        timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) async throws -> Disposable {
        try await serve(CallServer(key, isConcurrent: true, role, handler), timeout: timeout)
    }

    private func serve(_ server: CallServer, timeout: Duration?) async throws -> Disposable {
        try await link.serve(server, timeout: timeout)
        return Disposable { self.link.unserve(server) }
    }

    /// Whether a handler of this bus makes the call, and the call would get its turn only after that handler.
    private func waitsForItself(_ key: String) async throws -> Bool {
        guard let turn = HandlerTurn.current, turn.isInOrder, turn.isRunning(on: link.queue),
            let server = link.server(of: key), !server.isConcurrent
        else { return false }
        if server.pattern == key { return true }
        // Another client may serve a pattern that is more specific.
        do {
            return try await who(key).server?.client == greeting?.client
        } catch let error as BusError where error.code != nil {
            // This client may not ask. Then it is refused rather than left to wait for ever.
            return true
        }
    }
}

extension Call {
    fileprivate func request<Request: Decodable>() throws -> Request {
        do {
            return try decode()
        } catch {
            throw CallError(.badRequest, "\(error)")
        }
    }
}
