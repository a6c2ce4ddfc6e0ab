// The requests that wait for their answer. After `options.requestTimeout`, or their own `timeout`,
// they throw `BusError.timedOut`.

import PlugboardWire

extension Bus {
    /// Sets the value of a key and returns the revision of this write.
    ///
    /// ```swift
    /// let revision = try await bus.publish("cart.summary", ["items": 3])
    /// try await bus.publish("cart.summary", JSON(#"{"total":1000.00}"#), ifRevision: revision)
    /// try await bus.publish("till.open", true, while: .connected)
    /// try await bus.publish("till.hint", "paper is low", ttl: .seconds(20))
    /// ```
    /// - Parameters:
    ///   - value: any Encodable, or a `JSON` to be passed on byte for byte.
    ///   - ifRevision: publish only where the key has this revision (0: is absent); else
    ///     it throws `.refused` with `code == .conflict` and the key's revision.
    ///   - lifetime: `.connected`: the key is deleted when this connection ends, unless it
    ///     was written anew by then. ``announce(_:_:timeout:)`` sees to the next connection too.
    ///   - ttl: after how long it is deleted, from a millisecond, to which it is rounded up.
    ///   - cause: the revision that caused this. Without it, that of the event that is being
    ///     handled (``Cause``); with nil, none.
    @discardableResult
    public func publish(
        _ key: String,
        _ value: some Encodable,
        ifRevision: Int? = nil,
        while lifetime: Lifetime? = nil,
        ttl: Duration? = nil,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Int {
        let write = try Write.publish(
            key,
            value,
            ifRevision: ifRevision,
            while: lifetime,
            ttl: ttl,
            cause: cause
        )
        return try await self.write(write, timeout: timeout)
    }

    /// Sends an event that is not kept. Returns the bus's revision at that moment.
    @discardableResult
    public func emit(
        _ key: String,
        _ value: some Encodable,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Int {
        try await write(.emit(key, value, cause: cause), timeout: timeout)
    }

    /// Merges `value` into the current one (RFC 7396) and returns the new revision.
    @discardableResult
    public func patch(
        _ key: String,
        _ value: some Encodable,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Int {
        try await write(.patch(key, value, ifRevision: ifRevision, cause: cause), timeout: timeout)
    }

    /// Deletes a key and returns the revision of this write.
    /// - Throws: `.refused` with `code == .notFound` where there is no such key.
    @discardableResult
    public func delete(
        _ key: String,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Int {
        try await write(.delete(key, ifRevision: ifRevision, cause: cause), timeout: timeout)
    }

    /// Carries out one write and returns its revision.
    @discardableResult
    public func write(_ write: Write, timeout: Duration? = nil) async throws -> Int {
        try await link.request(ObjectText(write), timeout: timeout).revision
    }

    /// Carries out all writes or none, as one revision, which it returns.
    @discardableResult
    public func batch(_ writes: [Write], timeout: Duration? = nil) async throws -> Int {
        try await link.request(.batch(writes), timeout: timeout).revision
    }

    /// The same, put together in a closure.
    ///
    /// ```swift
    /// try await bus.batch { batch in
    ///     try batch.publish("banner", ["text": "2 new reviews"])
    ///     try batch.delete("indicator.B07")
    /// }
    /// ```
    @discardableResult
    public func batch(timeout: Duration? = nil, _ build: (Batch) throws -> Void) async throws -> Int {
        let batch = Batch()
        try build(batch)
        return try await self.batch(batch.writes, timeout: timeout)
    }

    /// The value of a key with its revision and writer; nil where there is none.
    public func entry(_ key: String, timeout: Duration? = nil) async throws -> Entry? {
        do {
            let request = ObjectText(op: "get").adding("key", string: key)
            return try await link.request(request, timeout: timeout).entry(of: key)
        } catch let error as BusError where error.code == .notFound {
            return nil
        }
    }

    /// The value of a key as a type of yours (or as `JSON`); nil where there is none.
    public func get<Value: Decodable>(
        _ key: String,
        as type: Value.Type = Value.self,
        timeout: Duration? = nil
    ) async throws -> Value? {
        try await entry(key, timeout: timeout)?.decode(as: type)
    }

    /// All keys that match, with their revisions, in key order. Asks page by page; a
    /// write in between may or may not be seen.
    public func keys(_ pattern: String = "**", timeout: Duration? = nil) async throws -> [KeyRevision] {
        var keys: [KeyRevision] = []
        while true {
            let request = ObjectText(op: "keys").adding("key", string: pattern)
                .adding("after", string: keys.last?.key)
            let reply = try await link.request(request, timeout: timeout)
            let page: [KeyRevision]
            do {
                page = try reply.keys()
            } catch {
                throw BusError.disconnected(reason: "a reply to keys that can't be read")
            }
            keys += page
            guard reply.hasMore, !page.isEmpty else { return keys }
        }
    }

    /// Waits until the broker has carried out everything that this bus sent before, and until this
    /// bus's observers have got all resulting events. Returns the revision.
    ///
    /// - Throws: `BusError.disconnected` as well if the connection broke since the last
    ///   `sync()` with pipelined writes under way, which may then be lost.
    @discardableResult
    public func sync(timeout: Duration? = nil) async throws -> Int {
        let wasLost = link.state.withLock { $0.pipelined.takeLost() }
        if wasLost { throw BusError.disconnected(reason: "writes since the last sync may be lost") }
        try await sendHeld(timeout: timeout)
        return try await link.request(ObjectText(op: "sync"), timeout: timeout).revision
    }

    /// Waits until remote observables have sent the changes that they hold until they know their
    /// value. They do so before this barrier is answered.
    func sendHeld(timeout: Duration?) async throws {
        guard link.state.withLock({ !$0.holding.isEmpty }) else { return }
        _ = try await link.request(ObjectText(op: "sync"), timeout: timeout)
    }

    /// Writes that nobody waits for.
    public var pipeline: Pipeline { Pipeline(link: link) }
}
