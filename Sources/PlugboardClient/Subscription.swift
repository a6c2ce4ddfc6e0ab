// A subscription as a sequence, for one `for await` loop. It keeps its bus alive and
// ends at the broker when it is released.

/// The events of one subscription, in order.
///
/// ```swift
/// let reviews = try await bus.subscribe("reviews.**")
/// for try await event in reviews {
///     switch event.kind {
///     case .update: print(event.key, try event.decode(as: Review.self).rating)
///     case .delete: print(event.key, "is gone")
///     case .synced: print("that was all there is; from here on it is live")
///     case .emit: break
///     }
/// }
/// ```
/// It goes on across reconnections: then the current values come once more, marked
/// `isInitial`, and end with another `synced`. It ends when the bus closes or `cancel()`
/// is called, after what waits has been read; it throws `.unreadFull` where it was read
/// too slowly, and `.refused` where a broker that came back doesn't grant it any more.
/// For one loop: a second one at the same time would share the events with the first.
public final class Subscription: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = any Error

    private let bus: Bus
    private let buffer: EventBuffer
    private let sub: Int

    init(bus: Bus, buffer: EventBuffer, sub: Int) {
        self.bus = bus
        self.buffer = buffer
        self.sub = sub
    }

    deinit { cancel() }

    /// Ends the subscription; the loop ends after the events that wait already.
    public func cancel() {
        bus.link.unsubscribe(sub)
        buffer.end(nil)
    }

    /// Calls `body` for each event until the subscription ends. What `body` writes names the
    /// event as its ``Cause``; otherwise it is the `for await` loop.
    ///
    /// ```swift
    /// try await bus.subscribe("cart.items").forEach { event in
    ///     try await bus.publish("cart.seen", true)
    /// }
    /// ```
    /// - Throws: what the loop throws, and what `body` does, which ends it.
    public func forEach(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Event) async throws -> Void
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

        public mutating func next() async throws -> Event? {
            try await next(isolation: #isolation)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            try await subscription.buffer.next(isolation: actor)
        }
    }
}
