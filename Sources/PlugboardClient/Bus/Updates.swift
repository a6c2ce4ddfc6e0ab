// A subscription's values as a type of the program's own. A value that can't be decoded is a fault but
// doesn't end the sequence. When its writer corrects it, it comes like any other.

/// The updates of one subscription, each with its value decoded.
///
/// ```swift
/// for try await update in try await bus.subscribe("people.*").updates(as: String.self) {
///     print(update.key, update.value)
/// }
/// ```
/// A value of another type is left out and reported by ``Bus/onFault(_:)``, or without a handler on
/// standard error. Events other than `update` are left out, too; use the subscription itself for them.
/// The sequence ends and throws as the subscription does. Values are decoded where the loop runs, so their
/// conformance may be isolated to its actor.
public struct Updates<Value: Decodable>: AsyncSequence {
    public typealias Element = Update<Value>
    public typealias Failure = any Error

    let subscription: Subscription

    public func makeAsyncIterator() -> Iterator {
        Iterator(base: subscription.makeAsyncIterator(), bus: subscription.bus)
    }

    /// Reads the updates of its subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: Subscription.Iterator
        fileprivate let bus: Bus

        public mutating func next() async throws -> Update<Value>? {
            try await next(isolation: #isolation)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Update<Value>? {
            while let event = try await base.next(isolation: actor) {
                guard event.kind == .update else { continue }
                do {
                    return Update(value: try event.decode(), event: event)
                } catch {
                    let error = error as? BusError ?? .undecodable(key: event.key, reason: "\(error)")
                    bus.link.faults.tell(Fault(error: error, key: event.key))
                }
            }
            return nil
        }
    }
}

extension Updates: Sendable where Value: Sendable {}

extension Update: Sendable where Value: Sendable {}

/// A value, and the event that brought it.
public struct Update<Value> {
    public let value: Value
    public let event: Event

    public var key: String { event.key }
    public var revision: Int { event.revision }
}

extension Subscription {
    /// The updates with their values as a type of yours; see ``Updates``.
    public func updates<Value: Decodable>(as type: Value.Type = Value.self) -> Updates<Value> {
        Updates(subscription: self)
    }
}
