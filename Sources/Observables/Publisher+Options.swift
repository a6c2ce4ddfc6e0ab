// Adding observers with options to the publishers for protocol-typed observers, and adding them from an
// actor.

extension ThreadSafeObservable {
    /// Adds observers. Their conformances may be isolated to the actor from which this is called; then they
    /// are called there.
    public final func add(_ observers: any SendableObject..., isolation: (any Actor)? = #isolation) {
        registry.add(observers, isolation: isolation)
    }

    /// Adds observers that are told as the options say; see ``ObserverOptions``. To change the options,
    /// remove them first. Calls are never folded.
    ///
    /// ```swift
    /// nonisolated protocol DoorObserver: Observer, Sendable { func doorMoved(isOpen: Bool) }
    ///
    /// final class Lamp: DoorObserver {
    ///     func doorMoved(isOpen: Bool) { print("lamp", isOpen ? "on" : "off") }
    /// }
    /// final class Lock: DoorObserver {
    ///     func doorMoved(isOpen: Bool) { print("lock", isOpen ? "open" : "shut") }
    /// }
    ///
    /// let door = ThreadSafeObservable()
    /// let (lamp, lock, control) = (Lamp(), Lock(), ObserverControl())
    /// door.add(lamp, options: ObserverOptions(control: control))
    /// door.add(lock, options: ObserverOptions(phase: 1))
    /// let tracing = door.trace { trace in
    ///     print(trace.event.role, trace.observers.map { "\($0.name) \($0.outcome)" })
    /// }
    /// control.pause()
    /// door.withObservers { (observer: any DoorObserver) in observer.doorMoved(isOpen: true) }
    /// // lock open
    /// // DoorObserver ["Lock sent", "Lamp paused"]
    /// control.resume()  // lamp on
    /// tracing.dispose()
    /// ```
    /// Without a context, they are called on the notifying thread, and for what has waited on the thread that
    /// ends the wait.
    public final func add(
        _ observers: any SendableObject..., on context: ObserverContext? = nil, options: ObserverOptions
    ) {
        registry.add(observers, context: context, options: options)
    }

    /// Calls `observer` after each notification with what became of it for each observer; see
    /// ``ObserverTrace``.
    public final func trace(
        _ observer: @escaping @Sendable (ObserverTrace<PublisherNotification>) -> Void
    ) -> Disposable {
        registry.trace(observer)
    }
}

extension KeyedThreadSafeObservable {
    /// Adds observers of keys that are told as the options say.
    public final func add(
        _ observers: any SendableObject...,
        keys: [any Hashable & Sendable],
        on context: ObserverContext? = nil,
        options: ObserverOptions
    ) {
        registry.add(observers, keys: keys.map { ObservedKey($0) }, context: context, options: options)
    }
}

extension ObservableThread {
    /// Adds observers. Their conformances may be isolated to the actor from which this is called; then they
    /// are called there, and otherwise on the thread.
    public final func add(_ observers: any SendableObject..., isolation: (any Actor)? = #isolation) {
        registry.add(observers, isolation: isolation)
    }

    /// Adds observers that are told as the options say; see ``ObserverOptions``. Without a context, they are
    /// always called on the thread.
    public final func add(
        _ observers: any SendableObject..., on context: ObserverContext? = nil, options: ObserverOptions
    ) {
        registry.add(observers, context: context ?? ownContext, options: options)
    }

    /// Calls `observer` after each notification, on the notifying thread, with what became of it for each
    /// observer; see ``ObserverTrace``.
    public final func trace(
        _ observer: @escaping @Sendable (ObserverTrace<PublisherNotification>) -> Void
    ) -> Disposable {
        registry.trace(observer)
    }

    /// The thread as a context. It doesn't keep the thread.
    final var ownContext: ObserverContext {
        ObserverContext { [weak self] call in _ = self?.run(call) }
    }
}

extension KeyedObservableThread {
    /// Adds observers of keys that are told as the options say.
    public final func add(
        _ observers: any SendableObject...,
        keys: [any Hashable & Sendable],
        on context: ObserverContext? = nil,
        options: ObserverOptions
    ) {
        let keys = keys.map { ObservedKey($0) }
        registry.add(observers, keys: keys, context: context ?? ownContext, options: options)
    }
}

extension PlainObservable {
    /// Adds observers in a phase, 0 to 9: those of lower phases are called first. Others are in phase 5.
    public final func add(_ observers: AnyObject..., phase: Int) {
        registry.add(observers, options: ObserverOptions(phase: phase))
    }
}

extension KeyedPlainObservable {
    /// Adds observers of keys in a phase.
    public final func add(_ observers: AnyObject..., keys: [any Hashable], phase: Int) {
        registry.add(observers, keys: keys.map { ObservedKey($0) }, options: ObserverOptions(phase: phase))
    }
}

extension ConcretePublisher where Observable: ThreadSafeObservable {
    /// Adds observers that are told as the options say.
    public func add(
        _ observers: any SendableObject..., on context: ObserverContext? = nil, options: ObserverOptions
    ) {
        observable.registry.add(observers, context: context, options: options)
    }

    /// Adds observers. Their conformances may be isolated to the actor from which this is called.
    public func add(_ observers: any SendableObject..., isolation: (any Actor)? = #isolation) {
        observable.registry.add(observers, isolation: isolation)
    }
}
