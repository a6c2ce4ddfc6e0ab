// The publisher's role in the pattern: it knows its observers only by their protocols. All
// observables for protocol-typed observers adopt it, and so does any type that forwards to one.

/// An object whose observers may be called from any thread.
public typealias SendableObject = AnyObject & Sendable

/// Has observers, and tells those that conform to a protocol.
///
/// Observers are held weakly: one that is released elsewhere is forgotten. An observer is added
/// once; adding it again changes nothing. In a module whose code is on the main actor by default, declare the
/// observers' protocols `nonisolated`. ``PlainObservable``, ``ThreadSafeObservable`` and
/// ``ObservableThread`` are publishers; ``ConcretePublisher`` makes one out of any class.
public protocol Publisher<AnyObserver>: AnyObject {
    /// The type of observers: `AnyObject`, or ``SendableObject`` if threads are involved.
    associatedtype AnyObserver

    func add(_ observers: [AnyObserver])

    func remove(_ observers: [AnyObserver])

    /// Calls `body` with every observer that conforms to the protocol its argument names.
    func withObservers<Role>(_ body: @escaping @Sendable (Role) -> Void)
}

extension Publisher {
    public func add(_ observers: AnyObserver...) {
        add(observers)
    }

    public func remove(_ observers: AnyObserver...) {
        remove(observers)
    }
}
