// A publisher that can be observed by key as well. The four ways to add and to remove (observer or
// observers, key or keys) are one requirement each.

/// The argument of a keyed notification.
public struct KeyedChange<Key, Value> {
    public let key: Key
    public let old: Value
    public let new: Value

    @inlinable
    public init(key: Key, old: Value, new: Value) {
        self.key = key
        self.old = old
        self.new = new
    }
}

extension KeyedChange: Sendable where Key: Sendable, Value: Sendable {}
extension KeyedChange: Equatable where Key: Equatable, Value: Equatable {}

/// A publisher that also has observers of keys.
///
/// A key is any hashable value; one publisher can have keys of several types, and equal values of
/// different types are different keys. Observers of a key get the notifications of that key.
/// Ordinary observers, those without a key, get the notifications without a key. Add an object
/// twice if it wants both.
public protocol KeyedPublisher<AnyObserver, AnyKey>: Publisher {
    /// The type of keys: `any Hashable`, or a Sendable one if threads are involved.
    associatedtype AnyKey

    /// Adds each observer to each key, all in one step.
    func add(_ observers: [AnyObserver], keys: [AnyKey])

    /// Removes each observer from each key, all in one step.
    func remove(_ observers: [AnyObserver], keys: [AnyKey])

    /// Calls `body` with every observer of the key that conforms to the protocol its argument names.
    func withObservers<Role, Key: Hashable & Sendable>(key: Key, _ body: @escaping @Sendable (Role) -> Void)
}

extension KeyedPublisher {
    @inlinable
    public func add(_ observers: AnyObserver..., key: AnyKey) {
        add(observers, keys: [key])
    }

    @inlinable
    public func add(_ observers: AnyObserver..., keys: [AnyKey]) {
        add(observers, keys: keys)
    }

    @inlinable
    public func add(_ observers: [AnyObserver], key: AnyKey) {
        add(observers, keys: [key])
    }

    @inlinable
    public func remove(_ observers: AnyObserver..., key: AnyKey) {
        remove(observers, keys: [key])
    }

    @inlinable
    public func remove(_ observers: AnyObserver..., keys: [AnyKey]) {
        remove(observers, keys: keys)
    }

    @inlinable
    public func remove(_ observers: [AnyObserver], key: AnyKey) {
        remove(observers, keys: [key])
    }

    /// The same, and passes key, old and new value to each call.
    @inlinable
    public func withObservers<Role, Key: Hashable & Sendable, Value: Sendable>(
        key: Key, old: Value, new: Value, _ body: @escaping @Sendable (Role, KeyedChange<Key, Value>) -> Void
    ) {
        let change = KeyedChange(key: key, old: old, new: new)
        withObservers(key: key) { body($0, change) }
    }
}
