// An observable thread with observers of keys as well.

/// An ``ObservableThread`` that can be observed by key as well.
///
/// ```swift
/// nonisolated protocol SensorObserver: Observer {
///     func sensorChanged(_ change: KeyedChange<String, Int>)
/// }
///
/// actor Average: SensorObserver {
///     private(set) var last: [String: Int] = [:]
///
///     nonisolated func sensorChanged(_ change: KeyedChange<String, Int>) {
///         assumeIsolated { $0.last[change.key] = change.new }
///     }
/// }
///
/// func measure(_ average: Average) throws {
///     let sensors = KeyedObservableThread()
///     sensors.add(average, keys: ["kitchen", "cellar"], on: .actor(average))
///     try sensors.start()
///     sensors.perform {
///         sensors.withObservers(key: "cellar", old: 11, new: 12) { (observer: any SensorObserver, change) in
///             observer.sensorChanged(change)
///         }
///     }
///     sensors.stop()
///     sensors.join()
/// }
/// ```
nonisolated open class KeyedObservableThread: ObservableThread, KeyedPublisher, @unchecked Sendable {
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

    public final func add(
        _ observers: [any SendableObject], key: any Hashable & Sendable, on context: ObserverContext
    ) {
        add(observers, keys: [key], on: context)
    }

    public final func remove(_ observers: [any SendableObject], keys: [any Hashable & Sendable]) {
        registry.remove(observers, keys: keys.map { ObservedKey($0) })
    }

    public final func withObservers<Role, Key: Hashable & Sendable>(
        key: Key, _ body: @escaping @Sendable (Role) -> Void
    ) {
        notify(key: ObservedKey(key), body)
    }
}
