// Subscribing, with a sequence or with a callback. Any thread or task may do it. The link keeps each
// subscription and begins it again on each new connection. The events of a sequence wait in an
// `EventBuffer`. Callbacks run on the bus's thread. Handlers in order run in the link's `HandlerQueue`.

import Observables

extension Bus {
    /// Subscribes to all keys that match a pattern, and returns their events as a sequence. In a pattern
    /// `*` stands for one token, and a last `**` for any number of tokens.
    ///
    /// - Throws: `BusError.refused`, for example `bad_pattern`, or another failure of the request.
    public func subscribe(
        _ pattern: String, options: SubscribeOptions = SubscribeOptions(), timeout: Duration? = nil
    ) async throws -> Subscription {
        try await subscribe([pattern], options: options, timeout: timeout)
    }

    /// The same for several patterns. A key that matches several of them gives one event.
    public func subscribe(
        _ patterns: [String], options: SubscribeOptions = SubscribeOptions(), timeout: Duration? = nil
    ) async throws -> Subscription {
        let sub = link.state.withLock { $0.takeSub() }
        let tellBehind: @Sendable (Bool) -> Void = { [weak link] in link?.note(readerIsBehind: $0) }
        let buffer = EventBuffer(
            bytesMax: options.unreadBytesMax, tellBehind: options.holdsBack ? tellBehind : nil
        )
        let registration = Self.registration(sub, patterns, options) { [weak link] event in
            if !buffer.add(event) { link?.unsubscribe(sub) }
        } onEnd: { error in
            buffer.end(error)
        }
        try await link.subscribe(registration, timeout: timeout)
        return Subscription(bus: self, buffer: buffer, sub: sub, acknowledges: options.acknowledges)
    }

    /// Subscribes with a callback, until the handle is disposed of or released.
    ///
    /// ```swift
    /// let observation = try await bus.subscribe("cart.items") { event in
    ///     print(event.key, event.revision)
    /// }
    /// ```
    /// - Parameters:
    ///   - pattern: which keys to hear of.
    ///   - options: what comes, and how.
    ///   - timeout: how long to wait for the broker's answer; by default as the bus's options say.
    ///   - onEnd: called once if the subscription ends by itself: with nil when the bus closes, or with
    ///     an error if the broker refuses the subscription after a reconnection.
    ///   - handler: called on the bus's thread, one event at a time. It must not wait, but it may write
    ///     with `pipeline`. What it writes names the event as its ``Cause``.
    public func subscribe(
        _ pattern: String,
        options: SubscribeOptions = SubscribeOptions(),
        timeout: Duration? = nil,
        onEnd: @escaping @Sendable (BusError?) -> Void = { _ in },
        _ handler: @escaping @Sendable (Event) -> Void
    ) async throws -> Disposable {
        try await subscribe([pattern], options: options, timeout: timeout, onEnd: onEnd, handler)
    }

    /// The same for several patterns. A key that matches several of them gives one event.
    public func subscribe(
        _ patterns: [String],
        options: SubscribeOptions = SubscribeOptions(),
        timeout: Duration? = nil,
        onEnd: @escaping @Sendable (BusError?) -> Void = { _ in },
        _ handler: @escaping @Sendable (Event) -> Void
    ) async throws -> Disposable {
        let sub = link.state.withLock { $0.takeSub() }
        let registration = Self.registration(sub, patterns, options, acknowledges: options.acknowledges) {
            event in
            event.causing(now: { handler(event) })
        } onEnd: { error in
            onEnd(error)
        }
        try await link.subscribe(registration, timeout: timeout)
        // The handle keeps the bus alive for as long as it observes.
        return Disposable { self.link.unsubscribe(sub) }
    }

    /// Subscribes with a handler that takes its turn among those of `serve`: handlers run one at a time, in
    /// the order in which the calls and events came. So a handler that waits doesn't let later ones pass.
    ///
    /// ```swift
    /// let adding = try await bus.subscribe(inOrder: ["cart.add"]) { event in
    ///     if let value = event.value { await cart.add(value) }
    /// }
    /// ```
    /// It lasts until the handle is disposed of or released; then waiting events are dropped. With
    /// `acknowledges`, an event is handled when the handler has returned.
    /// - Parameters:
    ///   - patterns: which keys to hear of.
    ///   - options: what comes, and how.
    ///   - timeout: how long to wait for the broker's answer; by default as the bus's options say.
    ///   - onEnd: called once, in its turn, if the subscription ends by itself: with nil when the bus stops
    ///     or closes, with `.unreadFull` if more events wait than `options.unreadBytesMax` allows, or with
    ///     an error if the broker refuses the subscription after a reconnection.
    ///   - handler: called for one event at a time. What it writes names the event as its ``Cause``. If it
    ///     calls a key that waits for it, that throws `BusError.waitsForItself`.
    /// - Throws: `BusError.refused`, for example `bad_pattern`, or another failure of the request.
    public func subscribe(
        inOrder patterns: [String],
        options: SubscribeOptions = SubscribeOptions(),
        timeout: Duration? = nil,
        onEnd: @escaping @Sendable (BusError?) async -> Void = { _ in },
        _ handler: @escaping @Sendable (Event) async -> Void
    ) async throws -> Disposable {
        let sub = link.state.withLock { $0.takeSub() }
        let observer = OrderedObserver(link, sub, options, onEnd: onEnd, handler)
        let registration = Self.registration(sub, patterns, options) { event in
            observer.take(event)
        } onEnd: { error in
            observer.end(error)
        }
        try await link.subscribe(registration, timeout: timeout)
        return Disposable {
            observer.dispose()
            self.link.unsubscribe(sub)
        }
    }

    private static func registration(
        _ sub: Int,
        _ patterns: [String],
        _ options: SubscribeOptions,
        acknowledges: Bool = false,
        onEvent: @escaping @Sendable (Event) -> Void,
        onEnd: @escaping @Sendable (BusError?) -> Void
    ) -> KeptSubscription {
        guard let memory = KeyMemory(options) else {
            return KeptSubscription(
                sub: sub,
                patterns: patterns,
                options: options,
                acknowledgesCallbacks: acknowledges,
                onEvent: onEvent,
                onEnd: onEnd
            )
        }
        return KeptSubscription(
            sub: sub, patterns: patterns, options: options, acknowledgesCallbacks: acknowledges
        ) { isResumed in
            memory.begin(isResumed: isResumed)
        } onEvent: { event in
            var event = event
            guard let missing = memory.complete(&event) else { return }
            for notice in missing { onEvent(notice) }
            onEvent(event)
        } onEnd: { error in
            onEnd(error)
        }
    }
}
