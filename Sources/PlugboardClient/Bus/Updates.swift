// A subscription's values as a type of the program's own. One that can't be decoded is a fault and
// not the end: whoever wrote it can correct it, and then it is told like any other.

/// The updates of one subscription, each with its value decoded.
///
/// ```swift
/// for try await update in try await bus.subscribe("people.*").updates(as: String.self) {
///     print(update.key, update.value)
/// }
/// ```
/// A value that isn't what was asked for is told by ``Bus/onFault(_:)``, without a handler on
/// standard error, and left out. Other events than `update` are left out as well: the
/// subscription itself has them. It ends and throws as that does.
public struct Updates<Value: Decodable & Sendable>: AsyncSequence, Sendable {
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

/// A value that was told, and the event that told it.
public struct Update<Value: Sendable>: Sendable {
    public let value: Value
    public let event: Event

    public var key: String { event.key }
    public var revision: Int { event.revision }
}

extension Subscription {
    /// The updates with their values as a type of yours; see ``Updates``.
    public func updates<Value: Decodable & Sendable>(as type: Value.Type = Value.self) -> Updates<Value> {
        Updates(subscription: self)
    }
}
