// Observers of values with options and conditions: in every phase, paused, less often, filtered. Each works
// for any value that can be observed, in this process or on the bus. Without one, nothing of this costs
// anything.

extension ValueObservable {
    /// Calls `observer` as the options say, and only for new values that meet the condition; see
    /// ``ObserverOptions``.
    ///
    /// ```swift
    /// let stock = ObservableValue(3)
    /// let order = stock.observe(where: { $0 < 2 }) { change in print("order more, there is", change.new) }
    /// stock.value = 2
    /// stock.value = 1  // order more, there is 1
    /// order.dispose()
    /// ```
    /// With `initial`, it is called with the current value as well, before any change, if that meets the
    /// condition. During a pause, that call waits, too. The condition is called on the thread that changes
    /// the value, once for each change.
    public func observe(
        initial: Bool = false,
        options: ObserverOptions = ObserverOptions(),
        where condition: (@Sendable (Value) -> Bool)? = nil,
        _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        observe(initial, options, condition, context: nil, observer)
    }

    /// The same for changes of one part. The condition is for the part.
    public func observe<Part: Equatable & Sendable>(
        _ part: any KeyPath<Value, Part> & Sendable,
        initial: Bool = false,
        options: ObserverOptions = ObserverOptions(),
        where condition: (@Sendable (Part) -> Bool)? = nil,
        _ observer: @escaping @Sendable (Change<Part>) -> Void
    ) -> Disposable {
        observe(
            initial,
            options,
            context: nil,
            part: { $0[keyPath: part] },
            Change.rules(isNews: { $0.old != $0.new }, where: condition),
            observer
        )
    }

    /// The same in a context, such as `.queue(_:)` or `.actor(_:)`. What comes while the context is busy
    /// folds, unless the options say otherwise.
    @_disfavoredOverload
    public func observe(
        on context: ObserverContext,
        initial: Bool = false,
        options: ObserverOptions,
        where condition: (@Sendable (Value) -> Bool)? = nil,
        _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        observe(initial, options, condition, context: context, observer)
    }

    /// The same on the main actor. The closure is isolated to it.
    public func observe(
        on context: MainActorContext,
        initial: Bool = false,
        options: ObserverOptions,
        where condition: (@Sendable (Value) -> Bool)? = nil,
        _ observer: @escaping @MainActor (Change<Value>) -> Void
    ) -> Disposable {
        observe(initial, options, condition, context: .mainActor) { change in
            MainActor.assumeIsolated { observer(change) }
        }
    }

    /// The same on the main actor for changes of one part. The condition is for the part.
    public func observe<Part: Equatable & Sendable>(
        _ part: any KeyPath<Value, Part> & Sendable,
        on context: MainActorContext,
        initial: Bool = false,
        options: ObserverOptions,
        where condition: (@Sendable (Part) -> Bool)? = nil,
        _ observer: @escaping @MainActor (Change<Part>) -> Void
    ) -> Disposable {
        observe(
            initial,
            options,
            context: .mainActor,
            part: { $0[keyPath: part] },
            Change.rules(isNews: { $0.old != $0.new }, where: condition)
        ) { change in
            MainActor.assumeIsolated { observer(change) }
        }
    }

    private func observe(
        _ initial: Bool,
        _ options: ObserverOptions,
        _ condition: (@Sendable (Value) -> Bool)?,
        context: ObserverContext?,
        _ observer: @escaping @Sendable (Change<Value>) -> Void
    ) -> Disposable {
        if condition == nil, context == nil, !options.needsGate {
            return observe(initial: initial, in: options.place, observer)
        }
        return observe(
            initial, options, context: context, part: { $0 }, Change.rules(where: condition), observer
        )
    }

    /// Observes through a gate.
    private func observe<Part: Sendable>(
        _ initial: Bool,
        _ options: ObserverOptions,
        context: ObserverContext?,
        part: @escaping @Sendable (Value) -> Part,
        _ rules: ObserverGate<Change<Part>>.Rules,
        _ observer: @escaping @Sendable (Change<Part>) -> Void
    ) -> Disposable {
        let gate = ObserverGate(options, rules, context: context, observer)
        let observation = observe(initial: initial, in: options.place.behind(gate)) { change in
            gate.take(change.map(part))
        }
        return gate.disposable(observation)
    }
}

extension Notifier {
    /// Calls `observer` as the options say, and only for events that meet the condition; see
    /// ``ObserverOptions``. With an `initial` event, it is called with that first, if that meets the
    /// condition.
    public func observe(
        initial: Event? = nil,
        options: ObserverOptions = ObserverOptions(),
        where condition: (@Sendable (Event) -> Bool)? = nil,
        _ observer: @escaping @Sendable (Event) -> Void
    ) -> Disposable {
        observe(initial, options, condition, context: nil, observer)
    }

    /// The same in a context, such as `.queue(_:)` or `.actor(_:)`.
    @_disfavoredOverload
    public func observe(
        on context: ObserverContext,
        initial: Event? = nil,
        options: ObserverOptions,
        where condition: (@Sendable (Event) -> Bool)? = nil,
        _ observer: @escaping @Sendable (Event) -> Void
    ) -> Disposable {
        observe(initial, options, condition, context: context, observer)
    }

    /// The same on the main actor. The closure is isolated to it.
    public func observe(
        on context: MainActorContext,
        initial: Event? = nil,
        options: ObserverOptions,
        where condition: (@Sendable (Event) -> Bool)? = nil,
        _ observer: @escaping @MainActor (Event) -> Void
    ) -> Disposable {
        observe(initial, options, condition, context: .mainActor) { event in
            MainActor.assumeIsolated { observer(event) }
        }
    }

    private func observe(
        _ initial: Event?,
        _ options: ObserverOptions,
        _ condition: (@Sendable (Event) -> Bool)?,
        context: ObserverContext?,
        _ observer: @escaping @Sendable (Event) -> Void
    ) -> Disposable {
        let rules = ObserverGate<Event>.Rules(accepts: condition)
        let gate = ObserverGate(options, rules, context: context, observer)
        let observation = observers.add(in: options.place.behind(gate), { gate.take($0) }) { initial }
        return gate.disposable(observation)
    }

    /// Calls `observer` after each event with what became of it for each observer; see ``ObserverTrace``.
    /// From then on the notifier tells of one event after the other, as with phases.
    public func trace(_ observer: @escaping @Sendable (ObserverTrace<Event>) -> Void) -> Disposable {
        observers.trace(asksForOld: false, observer)
    }
}

extension ObservableValue {
    /// Calls `observer` after each change with what became of it for each observer; see ``ObserverTrace``.
    /// From then on the value tells of one change after the other, as with phases.
    public func trace(_ observer: @escaping @Sendable (ObserverTrace<Change<Value>>) -> Void) -> Disposable {
        observers.trace(asksForOld: true, observer)
    }
}

extension Change where Value: Sendable {
    /// What a gate has to know of changes.
    static func rules(
        isNews: (@Sendable (Change) -> Bool)? = nil, where condition: (@Sendable (Value) -> Bool)?
    ) -> ObserverGate<Change>.Rules {
        var rules = ObserverGate<Change>.Rules()
        rules.fold = { first, second in Change(old: first.old, new: second.new) }
        if let condition { rules.accepts = { condition($0.new) } }
        rules.isNews = isNews
        return rules
    }
}

extension ObserverPlace {
    func behind(_ gate: any GateOutcome) -> ObserverPlace {
        ObserverPlace(phase: phase, name: name, gate: gate)
    }
}

extension ObserverGate {
    /// Ends the gate and the observation. It doesn't keep the gate, which goes with the observable. Otherwise
    /// a sequence that is fed through a gate would never end.
    func disposable(_ observation: Disposable) -> Disposable {
        Disposable { [weak self] in
            self?.close()
            observation.dispose()
        }
    }
}
