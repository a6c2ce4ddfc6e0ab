// The functions of an observable value, in this process (`ObservableValue`) or in a broker
// (`RemoteObservable` of PlugboardClient). To move code from one to the other, change only the line that
// makes the value.

/// A value that can be read, changed and observed, from any thread.
///
/// ```swift
/// func count(_ visits: some ValueObservable<Int>) -> Disposable {
///     let observation = visits.observe { change in print("visit", change.new) }
///     visits.update { $0 += 1 }
///     return observation
/// }
///
/// let observation = count(ObservableValue(41))  // visit 42
/// ```
/// To adopt it, three members are enough: `value`, the closure form of `update` and
/// `observe(initial:_:)`. Every conforming type promises that an observer is called for one
/// change at a time, and that each change's `old` is the `new` of the one before.
///
/// The name is not `Observable`, because the standard library's `Observation` has that one.
public protocol ValueObservable<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable

    /// The newest value. Changing it, or a part of it in place, notifies the observers.
    ///
    /// `counter.value += 1` reads, then writes: if other threads change the same value, use
    /// ``update(_:)->Result``, which does both in one step.
    var value: Value { get set }

    /// Sets the value and notifies the observers, also if it equals the old one.
    func update(_ newValue: Value)

    /// Changes the value in one step and notifies the observers, then returns what `change` returns. If
    /// `change` throws, nothing has changed and no one is notified. Inside `change`, don't read or change the
    /// same observable: use only the argument.
    @discardableResult
    func update<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Calls `observer` for every change until the returned handle is disposed of or released.
    ///
    /// With `initial`, it is called with the current value as well, before any change and before this method
    /// returns. That call's `old` is nil.
    func observe(initial: Bool, _ observer: @escaping @Sendable (Change<Value>) -> Void) -> Disposable

    /// The same for an observer in a phase. A type that doesn't implement it has all observers in one phase.
    func observe(
        initial: Bool, in place: ObserverPlace, _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable
}

extension ValueObservable {
    @inlinable
    public func update(_ newValue: Value) {
        update { $0 = newValue }
    }

    public func observe(
        initial: Bool, in place: ObserverPlace, _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        observe(initial: initial, observer)
    }

    /// Calls `observer` for every change from now on, without the current value.
    @inlinable
    public func observe(_ observer: @escaping @Sendable (Change<Value>) -> Void) -> Disposable {
        observe(initial: false, observer)
    }

    /// Calls `observer` only for changes of one part; with `\.self`, only if the new value differs.
    ///
    /// ```swift
    /// let text = ObservableValue("Ada")
    /// let length = text.observe(\.count) { change in print("length", change.new) }
    /// let differing = text.observe(\.self) { change in print("text", change.new) }
    /// text.value = "Eve"  // text Eve
    /// text.value = "Grace"  // length 5, text Grace
    /// text.value = "Grace"  // not a word
    /// ```
    @inlinable
    public func observe<Part: Equatable & Sendable>(
        _ part: any KeyPath<Value, Part> & Sendable,
        initial: Bool = false,
        _ observer: @escaping @Sendable (Change<Part>) -> Void
    ) -> Disposable {
        observe(initial: initial) { change in
            let change = change.map { $0[keyPath: part] }
            if change.old != change.new { observer(change) }
        }
    }
}
