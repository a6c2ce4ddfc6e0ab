// The roles of the classic pattern as protocols, for classes that inherit from something else or
// from nothing: each is one line to adopt. The publisher itself is in Publisher.swift.
//
//   Publisher  ←  ConcretePublisher  ←┐
//                                     ├─  Mediator
//   Observer   ←  ConcreteObserver   ←┘

/// The observer's role. Protocols for observers refine it and name the notifications.
///
/// A publisher reaches an observer by such a protocol. An observer conforms to a protocol for each
/// kind of notification that it wants. Observers are objects, because publishers hold them weakly.
public protocol Observer: AnyObject {}

/// A publisher that leaves its observers to an observable.
///
/// ```swift
/// nonisolated protocol TemperatureObserver: Observer, Sendable { func temperatureChanged(to celsius: Int) }
///
/// final class Thermometer: ConcretePublisher, Sendable {
///     let observable = ThreadSafeObservable()
///
///     func read(_ celsius: Int) {
///         withObservers { (observer: any TemperatureObserver) in
///             observer.temperatureChanged(to: celsius)
///         }
///     }
/// }
/// ```
public protocol ConcretePublisher<AnyObserver>: Publisher where AnyObserver == Observable.AnyObserver {
    associatedtype Observable: Publisher

    /// Keeps the observers: any of this library's observables for protocol-typed observers.
    var observable: Observable { get }
}

extension ConcretePublisher {
    public func add(_ observers: [AnyObserver]) {
        observable.add(observers)
    }

    public func remove(_ observers: [AnyObserver]) {
        observable.remove(observers)
    }

    public func withObservers<Role>(_ body: @escaping @Sendable (Role) -> Void) {
        observable.withObservers(body)
    }
}

extension ConcretePublisher where Observable: PlainObservable {
    public func withObservers<Role>(_ body: (Role) -> Void) {
        observable.withObservers(body)
    }
}

extension ConcretePublisher where Observable: ThreadSafeObservable {
    public func add(_ observers: any SendableObject..., on context: ObserverContext) {
        observable.add(observers, on: context)
    }
}

extension ConcretePublisher where Observable: ObservableThread {
    public func add(_ observers: any SendableObject..., on context: ObserverContext) {
        observable.add(observers, on: context)
    }
}

/// An observer that knows its publishers, and adds and removes itself.
///
/// ```swift
/// nonisolated final class Display: TemperatureObserver, ConcreteObserver {
///     var publishers: [any Publisher<any SendableObject>] { [thermometer] }
///     private let thermometer: Thermometer
///
///     init(_ thermometer: Thermometer) { self.thermometer = thermometer }
///
///     func temperatureChanged(to celsius: Int) { print("it is", celsius, "°C") }
/// }
///
/// let thermometer = Thermometer()
/// let display = Display(thermometer)
/// display.startObserving()
/// thermometer.read(21)
/// display.stopObserving()
/// ```
public protocol ConcreteObserver<AnyObserver>: Observer {
    /// The type of observers of its publishers: `AnyObject`, or ``SendableObject``.
    associatedtype AnyObserver

    var publishers: [any Publisher<AnyObserver>] { get }
}

extension ConcreteObserver where AnyObserver == AnyObject {
    public func startObserving() {
        for publisher in publishers { publisher.add([self]) }
    }

    public func stopObserving() {
        for publisher in publishers { publisher.remove([self]) }
    }
}

extension ConcreteObserver where Self: Sendable, AnyObserver == any SendableObject {
    public func startObserving() {
        for publisher in publishers { publisher.add([self]) }
    }

    public func stopObserving() {
        for publisher in publishers { publisher.remove([self]) }
    }
}

/// Observes several publishers that don't know each other, and notifies its own observers of the result.
///
/// ```swift
/// nonisolated protocol WindowObserver: Observer, Sendable { func windowChanged(isOpen: Bool) }
/// nonisolated protocol HeatingObserver: Observer, Sendable { func heat(_ isOn: Bool) }
///
/// final class Window: ConcretePublisher, Sendable {
///     let observable = ThreadSafeObservable()
///
///     func set(isOpen: Bool) {
///         withObservers { (observer: any WindowObserver) in observer.windowChanged(isOpen: isOpen) }
///     }
/// }
///
/// nonisolated final class Thermostat: Mediator, TemperatureObserver, WindowObserver {
///     let observable = ThreadSafeObservable()
///     var publishers: [any Publisher<any SendableObject>] { [thermometer, window] }
///     private let thermometer: Thermometer
///     private let window: Window
///     private let state = Mutex((celsius: 20, isOpen: false))
///
///     init(_ thermometer: Thermometer, _ window: Window) {
///         self.thermometer = thermometer
///         self.window = window
///     }
///
///     func temperatureChanged(to celsius: Int) { decide { $0.celsius = celsius } }
///     func windowChanged(isOpen: Bool) { decide { $0.isOpen = isOpen } }
///
///     private func decide(_ change: (inout (celsius: Int, isOpen: Bool)) -> Void) {
///         let isOn = state.withLock { state in
///             change(&state)
///             return state.celsius < 20 && !state.isOpen
///         }
///         withObservers { (observer: any HeatingObserver) in observer.heat(isOn) }
///     }
/// }
///
/// final class Boiler: HeatingObserver {
///     func heat(_ isOn: Bool) { print(isOn ? "heating" : "off") }
/// }
///
/// let thermometer = Thermometer()
/// let window = Window()
/// let thermostat = Thermostat(thermometer, window)
/// let boiler = Boiler()
/// thermostat.startObserving()
/// thermostat.add(boiler)
/// thermometer.read(18)  // heating
/// window.set(isOpen: true)  // off
/// ```
public protocol Mediator<AnyObserver>: ConcreteObserver, ConcretePublisher {}
