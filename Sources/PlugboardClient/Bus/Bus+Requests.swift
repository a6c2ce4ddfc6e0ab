// The requests that wait for their answer. They throw `BusError.timedOut` after `options.requestTimeout`,
// or after their own `timeout`.

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
    ///   - key: the key that gets the value.
    ///   - value: any Encodable. A `JSON` is passed on byte for byte.
    ///   - ifRevision: publish only if the key has this revision; 0 means that it is absent. Otherwise
    ///     throws `.refused` with `code == .conflict` and the key's revision.
    ///   - lifetime: with `.connected`, the broker deletes the key when this connection ends, unless the
    ///     key was written again by then. ``announce(_:_:timeout:)`` also publishes on later connections.
    ///   - ttl: the time after which the broker deletes the key, rounded up to whole milliseconds; at
    ///     least one.
    ///   - cause: the revision that caused this write. By default that of the event that is being handled
    ///     (``Cause``); nil means none.
    ///   - timeout: how long to wait for the broker's answer; by default as the bus's options say.
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
            key, value, ifRevision: ifRevision, while: lifetime, ttl: ttl, cause: cause
        )
        return try await self.write(write, timeout: timeout)
    }

    /// Sends a value to observers without keeping it. Returns the bus's present revision.
    @discardableResult
    public func emit(
        _ key: String, _ value: some Encodable, cause: Int? = Cause.current, timeout: Duration? = nil
    ) async throws -> Int {
        try await write(.emit(key, value, cause: cause), timeout: timeout)
    }

    /// Merges `value` into the current one (RFC 7396) and returns the new revision.
    ///
    /// ```swift
    /// try await bus.patch("cart.items", ["quantity": 3], field: "/17")
    /// ```
    /// `field` is the part of the value to change, as a JSON Pointer (RFC 6901). In an array it names an element;
    /// `-` adds one at the end, and `JSON.null` removes one.
    ///
    /// - Throws: `.refused` with `code == .conflict` if there is no such part and none can be made.
    @discardableResult
    public func patch(
        _ key: String,
        _ value: some Encodable,
        field: String? = nil,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Int {
        try await write(
            .patch(key, value, field: field, ifRevision: ifRevision, cause: cause), timeout: timeout
        )
    }

    /// Adds to a number in one step, and returns the sum. Nothing is rounded on the bus; `Decimal` keeps
    /// that.
    ///
    /// ```swift
    /// let visits = try await bus.add("visits", 1)
    /// ```
    /// `field` is the part of the value to add to, as a JSON Pointer (RFC 6901). What isn't there counts as 0.
    ///
    /// - Throws: `.refused` with `code == .conflict` if there is something but a number.
    @discardableResult
    public func add<Number: Codable & Numeric>(
        _ key: String,
        _ number: Number,
        field: String? = nil,
        ifRevision: Int? = nil,
        cause: Int? = Cause.current,
        timeout: Duration? = nil
    ) async throws -> Number {
        let write = try Write.add(key, number, field: field, ifRevision: ifRevision, cause: cause)
        return try await link.request(ObjectWriter(write), timeout: timeout).value.decode(as: Number.self)
    }

    /// Deletes a key and returns the revision of this write.
    /// - Throws: `.refused` with `code == .notFound` if the key is absent.
    @discardableResult
    public func delete(
        _ key: String, ifRevision: Int? = nil, cause: Int? = Cause.current, timeout: Duration? = nil
    ) async throws -> Int {
        try await write(.delete(key, ifRevision: ifRevision, cause: cause), timeout: timeout)
    }

    /// Makes one write and returns its revision.
    @discardableResult
    public func write(_ write: Write, timeout: Duration? = nil) async throws -> Int {
        try await link.request(ObjectWriter(write), timeout: timeout).revision
    }

    /// Makes all writes as one revision, which it returns, or none.
    @discardableResult
    public func batch(_ writes: [Write], timeout: Duration? = nil) async throws -> Int {
        try await link.request(.batch(writes), timeout: timeout).revision
    }

    /// The same for writes that a closure adds.
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

    /// The value of a key with its revision and writer; nil if the key is absent.
    public func entry(_ key: String, timeout: Duration? = nil) async throws -> Entry? {
        do {
            let request = ObjectWriter(op: "get").adding("key", string: key)
            return try await link.request(request, timeout: timeout).entry(of: key)
        } catch let error as BusError where error.code == .notFound {
            return nil
        }
    }

    /// The value of a key as a type of yours (or as `JSON`); nil if the key is absent.
    public func get<Value: Decodable>(
        _ key: String, as type: Value.Type = Value.self, timeout: Duration? = nil
    ) async throws -> Value? {
        try await entry(key, timeout: timeout)?.decode(as: type)
    }

    /// All keys that match, with their revisions, in the order of their bytes. Asks page by page, so a
    /// write between two pages may or may not show.
    public func keys(_ pattern: String = "**", timeout: Duration? = nil) async throws -> [KeyRevision] {
        var keys: [KeyRevision] = []
        while true {
            let request = ObjectWriter(op: "keys").adding("key", string: pattern)
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

    /// Waits until the broker has handled everything that this bus sent before, and until this bus's
    /// observers have got all events that followed, except those that are held: by a pause, by `every`, or
    /// for an earlier phase. Returns the revision, which is therefore not a ``Place``.
    ///
    /// - Throws: `BusError.disconnected`, also if the connection broke since the last `sync()` and
    ///   pipelined writes may be lost.
    @discardableResult
    public func sync(timeout: Duration? = nil) async throws -> Int {
        let wasLost = link.state.withLock { $0.pipelined.takeLost() }
        if wasLost { throw BusError.disconnected(reason: "writes since the last sync may be lost") }
        try await sendHeld(timeout: timeout)
        return try await link.request(ObjectWriter(op: "sync"), timeout: timeout).revision
    }

    /// Waits until remote observables have sent the changes that they held back because they didn't know
    /// their value yet. They send them before this barrier is answered.
    func sendHeld(timeout: Duration?) async throws {
        guard link.state.withLock({ !$0.holding.isEmpty }) else { return }
        _ = try await link.request(ObjectWriter(op: "sync"), timeout: timeout)
    }

    /// Writes whose answers nobody waits for.
    public var pipeline: Pipeline { Pipeline(link: link) }
}
