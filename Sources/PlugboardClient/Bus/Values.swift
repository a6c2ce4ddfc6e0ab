// Values of many keys as one sequence, without a subscription to be made first. It subscribes when its loop
// begins, and unsubscribes when that ends.

/// The keys that match a pattern, each with its value: first the current ones, then every change.
///
/// ```swift
/// for try await (key, review) in bus.values("reviews.*", as: Review.self) {
///     print(key, review.rating)
/// }
/// ```
/// Each loop has a subscription of its own, which ends with the loop. A value of another type is left out and
/// reported by ``Bus/onFault(_:)``, or without a handler on standard error. Keys that are deleted aren't
/// told; use ``Bus/subscribe(_:options:timeout:)-(String,_,_)`` for that.
///
/// **End.** The loop ends when the bus closes or the loop's task is cancelled. It throws a ``BusError`` if
/// the subscription can't begin (`.closed` if the bus closes before it has), `.unreadFull` if it is read too
/// slowly, and `.refused` if the broker no longer allows it after a reconnection.
public struct Values<Value: Decodable>: AsyncSequence {
    public typealias Element = (key: String, value: Value)
    public typealias Failure = any Error

    fileprivate let bus: Bus
    fileprivate let patterns: [String]
    fileprivate let options: SubscribeOptions

    public func makeAsyncIterator() -> Iterator {
        Iterator(values: self)
    }

    /// Reads the values of one subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let values: Values
        private var updates: Updates<Value>.Iterator?

        fileprivate init(values: Values) {
            self.values = values
        }

        public mutating func next() async throws -> Element? {
            try await next(isolation: #isolation)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            if updates == nil {
                if Task.isCancelled { return nil }
                do {
                    let subscription = try await values.bus.subscribe(
                        values.patterns, options: values.options
                    )
                    updates = subscription.updates(as: Value.self).makeAsyncIterator()
                } catch is CancellationError {
                    return nil
                }
            }
            guard let update = try await updates?.next(isolation: actor) else { return nil }
            return (update.key, update.value)
        }
    }
}

extension Values: Sendable where Value: Sendable {}

extension Bus {
    /// The values of all keys that match a pattern, as a type of yours; see ``Values``.
    public func values<Value: Decodable>(
        _ pattern: String, as type: Value.Type = Value.self, options: SubscribeOptions = SubscribeOptions()
    ) -> Values<Value> {
        values([pattern], as: type, options: options)
    }

    /// The same for several patterns. A key that matches several of them comes once.
    public func values<Value: Decodable>(
        _ patterns: [String], as type: Value.Type = Value.self, options: SubscribeOptions = SubscribeOptions()
    ) -> Values<Value> {
        Values(bus: self, patterns: patterns, options: options)
    }
}
