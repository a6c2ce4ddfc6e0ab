// Observers of values and notifiers that are called in a context of their choice.

extension ValueObservable {
    /// Calls `observer` on the main actor for every change. The closure is isolated to it.
    ///
    /// ```swift
    /// @MainActor final class Label {
    ///     var text = ""
    ///     private var observation: Disposable?
    ///
    ///     func show(_ price: ObservableValue<Int>) {
    ///         observation = price.observe(on: .mainActor) { [weak self] change in
    ///             self?.text = "\(change.new) €"
    ///         }
    ///     }
    /// }
    /// ```
    /// The calls are made later, in the order of the changes. None begins after the handle was disposed of on
    /// the main actor. With `initial`, it is called with the current value as well, before any change.
    public func observe(
        on context: MainActorContext,
        initial: Bool = false,
        _ observer: @escaping @MainActor (Change<Value>) -> Void
    ) -> Disposable {
        context.observe(observer) { observe(initial: initial, $0) }
    }

    /// The same for changes of one part; see ``observe(_:initial:_:)``. The key path needn't be Sendable, as
    /// those of types that are isolated to the main actor aren't.
    @MainActor
    public func observe<Part: Equatable & Sendable>(
        _ part: KeyPath<Value, Part>,
        on context: MainActorContext,
        initial: Bool = false,
        _ observer: @escaping @MainActor (Change<Part>) -> Void
    ) -> Disposable {
        observe(on: context, initial: initial) { change in
            let change = change.map { $0[keyPath: part] }
            if change.old != change.new { observer(change) }
        }
    }

    /// Calls `observer` in a context, such as `.queue(_:)` or `.actor(_:)`, for every change.
    @_disfavoredOverload
    public func observe(
        on context: ObserverContext,
        initial: Bool = false,
        _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        context.observe(observer) { observe(initial: initial, $0) }
    }
}

extension Notifier {
    /// Calls `observer` on the main actor for every event, later, in the order of the events, and with an
    /// `initial` event first. The closure is isolated to it.
    public func observe(
        on context: MainActorContext, initial: Event? = nil, _ observer: @escaping @MainActor (Event) -> Void
    ) -> Disposable {
        context.observe(observer) { observe(initial: initial, $0) }
    }

    /// Calls `observer` in a context, such as `.queue(_:)` or `.actor(_:)`, for every event.
    @_disfavoredOverload
    public func observe(
        on context: ObserverContext, initial: Event? = nil, _ observer: @escaping @Sendable (Event) -> Void
    ) -> Disposable {
        context.observe(observer) { observe(initial: initial, $0) }
    }
}
