// The base type for a publisher that any thread may use. Made to be inherited from, or held by a
// `ConcretePublisher`. Invariant: no observer is called while a lock is held.

/// Has weakly held observers of any protocols; everything may be called from any thread.
///
/// ```swift
/// nonisolated protocol StockObserver: Observer, Sendable { func stockChanged(to pieces: Int) }
///
/// final class Warehouse: ThreadSafeObservable, @unchecked Sendable {
///     private let pieces = Mutex(0)
///
///     func deliver(_ count: Int) {
///         let now = pieces.withLock { pieces in
///             pieces += count
///             return pieces
///         }
///         withObservers { (observer: any StockObserver) in observer.stockChanged(to: now) }
///     }
/// }
///
/// final class Shelf: StockObserver {
///     func stockChanged(to pieces: Int) { print("in stock:", pieces) }
/// }
///
/// let warehouse = Warehouse()
/// let shelf = Shelf()
/// warehouse.add(shelf)
/// warehouse.deliver(12)
/// ```
/// Observers with a context (`add(_:on:)`) are called there, later. Those whose conformance is isolated to
/// the main actor are called on it without a context, too; if it is isolated to another actor, they need that
/// context, or they are reported (``UnreachedObserver``). All others are called on the notifying thread, in the order in which they were added, outside of
/// every lock: they may publish again, add and remove. Adding and removing from other threads don't wait for
/// a running notification. A removed observer isn't called any more (a call that has begun may still be
/// running). An added one is called from the next notification on. Two threads that notify at the same time
/// call an observer at the same time, in either order. Where order matters, use ``ObservableValue``,
/// ``Notifier`` or ``ObservableThread``.
///
/// A subclass must repeat `@unchecked Sendable` and protect its own state, as above. If the compiler should
/// check a class, let the class hold an observable instead, as a ``ConcretePublisher``.
nonisolated open class ThreadSafeObservable: Publisher, @unchecked Sendable {
    let registry = ObserverRegistry<any SendableObject>()

    public init() {}

    /// How many living observers there are, those of keys not counted.
    public final var observerCount: Int { registry.count() }

    public final func add(_ observers: [any SendableObject]) {
        registry.add(observers)
    }

    /// Adds observers that are called in a context. To change it, remove them first.
    public final func add(_ observers: [any SendableObject], on context: ObserverContext) {
        registry.add(observers, context: context)
    }

    public final func add(_ observers: any SendableObject..., on context: ObserverContext) {
        add(observers, on: context)
    }

    public final func remove(_ observers: [any SendableObject]) {
        registry.remove(observers)
    }

    public final func withObservers<Role>(_ body: @escaping @Sendable (Role) -> Void) {
        registry.notify(body)
    }
}

/// A ``ThreadSafeObservable`` that can be observed by key as well.
///
/// ```swift
/// nonisolated protocol PriceObserver: Observer, Sendable {
///     func priceChanged(of sku: String, from old: Int, to new: Int)
/// }
///
/// final class PriceTag: PriceObserver {
///     func priceChanged(of sku: String, from old: Int, to new: Int) {
///         print(sku, "costs", new, "instead of", old)
///     }
/// }
///
/// let prices = KeyedThreadSafeObservable()
/// let tag = PriceTag()
/// prices.add(tag, keys: ["B01", "B02"])
/// prices.withObservers(key: "B01", old: 30, new: 25) { (observer: any PriceObserver, change) in
///     observer.priceChanged(of: change.key, from: change.old, to: change.new)
/// }
/// ```
nonisolated open class KeyedThreadSafeObservable: ThreadSafeObservable, KeyedPublisher, @unchecked Sendable {
    public final func observerCount(key: any Hashable & Sendable) -> Int {
        registry.count(key: ObservedKey(key))
    }

    public final func add(_ observers: [any SendableObject], keys: [any Hashable & Sendable]) {
        registry.add(observers, keys: keys.map { ObservedKey($0) })
    }

    public final func add(
        _ observers: [any SendableObject], keys: [any Hashable & Sendable], on context: ObserverContext
    ) {
        registry.add(observers, keys: keys.map { ObservedKey($0) }, context: context)
    }

    public final func add(
        _ observers: any SendableObject..., keys: [any Hashable & Sendable], on context: ObserverContext
    ) {
        add(observers, keys: keys, on: context)
    }

    public final func add(
        _ observers: any SendableObject..., key: any Hashable & Sendable, on context: ObserverContext
    ) {
        add(observers, keys: [key], on: context)
    }

    public final func remove(_ observers: [any SendableObject], keys: [any Hashable & Sendable]) {
        registry.remove(observers, keys: keys.map { ObservedKey($0) })
    }

    public final func withObservers<Role, Key: Hashable & Sendable>(
        key: Key, _ body: @escaping @Sendable (Role) -> Void
    ) {
        registry.notify(key: ObservedKey(key), body)
    }
}
