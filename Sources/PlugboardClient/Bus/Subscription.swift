// A subscription as a sequence, for one `for await` loop. It keeps its bus alive. When it is released,
// the broker ends it.

/// The events of one subscription, in order.
///
/// ```swift
/// let reviews = try await bus.subscribe("reviews.**")
/// for try await event in reviews {
///     switch event.kind {
///     case .update: print(event.key, try event.decode(as: Review.self).rating)
///     case .delete: print(event.key, "is gone")
///     case .synced: print("that was all there is; from here on it is live")
///     case .emit, .leave, .lagged: break
///     }
/// }
/// ```
/// It continues after a reconnection, even with a new broker on the same journal. Then the newest value
/// of each missed key comes, and another `synced`. If the broker no longer knows what was missed, the
/// current values come once more, marked `isInitial`. It ends when the bus closes or `cancel()` is
/// called, after the waiting events have been read. It throws `.unreadFull` if it was read too slowly,
/// and `.refused` if the broker no longer allows it after a reconnection. Use it in one loop: a second
/// loop at the same time would share its events.
public final class Subscription: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = any Error

    let bus: Bus
    let sub: Int
    let buffer: EventBuffer
    let acknowledges: Bool

    init(bus: Bus, buffer: EventBuffer, sub: Int, acknowledges: Bool) {
        self.bus = bus
        self.buffer = buffer
        self.sub = sub
        self.acknowledges = acknowledges
    }

    deinit { cancel() }

    /// Ends the subscription. The loop ends after the waiting events.
    public func cancel() {
        bus.link.unsubscribe(sub)
        buffer.end(nil)
    }

    /// Calls `body` for each event until the subscription ends. Writes in `body` name the event as their
    /// ``Cause``. Otherwise it is like a `for await` loop.
    ///
    /// ```swift
    /// try await bus.subscribe("cart.items").forEach { event in
    ///     try await bus.publish("cart.seen", true)
    /// }
    /// ```
    /// - Throws: what the loop throws, and what `body` throws, which ends the subscription's loop.
    public func forEach(
        isolation: isolated (any Actor)? = #isolation, _ body: (Event) async throws -> Void
    ) async throws {
        var iterator = makeAsyncIterator()
        while let event = try await iterator.next(isolation: isolation) {
            try await event.causing { try await body(event) }
        }
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self)
    }

    /// Reads the events of its subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription
        /// The revision of the event that the loop is handling, if the event needs an `ack`.
        private var handled: Int?

        fileprivate init(subscription: Subscription) {
            self.subscription = subscription
        }

        public mutating func next() async throws -> Event? {
            try await next(isolation: #isolation)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            acknowledge()
            let event = try await subscription.buffer.next(isolation: actor)
            if subscription.acknowledges, let event, event.needsAcknowledgement { handled = event.revision }
            return event
        }

        /// Acknowledges the last event that the loop has handled, unless more of its revision waits.
        private mutating func acknowledge() {
            guard let revision = handled, !subscription.buffer.beginsWith(revision) else { return }
            handled = nil
            subscription.bus.link.acknowledge(subscription.sub, revision)
        }
    }
}
