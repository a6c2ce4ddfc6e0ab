// Calls: asking the client that serves a key, and serving keys. Handlers run in tasks of their own, and
// everything else may be called from any thread or task.

import Observables
import PlugboardWire

extension Bus {
    /// Calls the server of a key, and returns the answer as a type of yours (or as `JSON`).
    ///
    /// ```swift
    /// let items: Int = try await bus.call("cart.add", ["sku": "B07"], timeout: .seconds(2))
    /// ```
    /// - Parameters:
    ///   - value: what the server gets, any Encodable.
    ///   - timeout: how long to wait, from a millisecond to an hour. By default as long as for any
    ///     request.
    /// - Throws: `.refused` with the server's own code; with `noProvider` if nobody serves the key; or
    ///   with `providerGone` if the server left before it answered. `.timedOut`; a later answer is
    ///   dropped. `.undecodable`. Also throws what every request throws.
    public func call<Answer: Decodable>(
        _ key: String,
        _ value: some Encodable,
        as type: Answer.Type = Answer.self,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Answer {
        let timeout = timeout ?? link.options.requestTimeout
        let request = ObjectText(op: "call").adding("key", string: key)
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
    /// ends with a fault.
    /// - Parameter handler: called for each call, in a task of its own; several may run at the same time.
    ///   Its result may be any Encodable. If it throws a `CallError`, the caller gets that. Any other
    ///   error becomes one with the code `failed`, and a request that can't be decoded one with
    ///   `bad_request`. What the handler writes names the caller's ``Cause``.
    /// - Throws: `.refused` with `conflict` if the key or the pattern is served already, or with
    ///   `badPattern`, `forbidden` or `limit`. Also throws what every request throws.
    public func serve<Request: Decodable & SendableMetatype, Answer: Encodable & SendableMetatype>(
        _ key: String,
        timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Request) async throws -> Answer
    ) async throws -> Disposable {
        try await serve(key, timeout: timeout) { (call: Call) in
            let request: Request
            do {
                request = try call.decode()
            } catch {
                throw CallError(.badRequest, "\(error)")
            }
            return try await handler(request)
        }
    }

    /// The same for a handler that gets the whole call: its key, its caller, and its value as JSON.
    public func serve<Answer: Encodable & SendableMetatype>(
        _ key: String,
        timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) async throws -> Disposable {
        let server = CallServer(pattern: key) { call in try JSON(encoding: try await handler(call)) }
        try await link.serve(server, timeout: timeout)
        return Disposable { self.link.unserve(server) }
    }
}
