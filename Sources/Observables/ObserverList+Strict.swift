// Strict lists: those with observers in several phases, and those that are traced. All observers are told of
// an event before any is told of the next. Events that come during a pass wait in one queue, and the pass's
// thread goes on with them. A list that became strict stays so.

import Synchronization

extension ObserverList {
    /// What a strict list has beyond others. Others leave it empty.
    @usableFromInline
    struct StrictState: Sendable {
        /// The deliveries that wait, each with the observers of its time. Those before `next` are over.
        @usableFromInline var queue: [Delivery?] = []
        @usableFromInline var next = 0
        @usableFromInline var tracers: [Tracer] = []

        @inlinable
        init() {}
    }

    /// Who wants to know who was told.
    @usableFromInline
    struct Tracer: Sendable {
        let number: Int
        let call: @Sendable (ObserverTrace<Event>) -> Void
    }

    /// Makes the list strict, under its lock. What is left of a pass goes into the inboxes.
    @usableFromInline
    func beginStrictness(_ state: inout State) {
        guard !state.isStrict else { return }
        settle(&state)
        state.isStrict = true
        state.deliveries += 1
        if let pass = state.pass.take() { interrupt(pass, &state) }
    }

    /// Calls the observers, and goes on with the events that come meanwhile. The caller holds no lock.
    @usableFromInline
    func passStrictly(_ delivery: Delivery) {
        var next: Delivery? = delivery
        while let delivery = next {
            if let event = delivery.event { tell(event, delivery.places) }
            let (following, rest) = state.withLock { state -> (Delivery?, [Place]) in
                state.pass = nil
                let following = state.nextStrictly()
                return (following, following == nil ? state.takeRest() : [])
            }
            withExtendedLifetime(rest) { next = following }
        }
    }

    private func tell(_ event: Event, _ places: [Place]) {
        let tracers = state.withLock { $0.strict.tracers }
        guard !tracers.isEmpty else {
            for place in places { place.inbox?.callDirectly(event) }
            return
        }
        var notes = TraceNotes<Event>()
        for place in places {
            guard let inbox = place.inbox, !inbox.isClosed else { continue }
            let number = place.number & (Self.base(of: 1) - 1)
            notes.note(inbox.place?.name ?? "#\(number)", place.number / Self.base(of: 1)) {
                inbox.callDirectly(event)
                return inbox.place?.gate?.outcome ?? .sent
            }
        }
        for tracer in tracers { tracer.call(notes.trace(of: event)) }
    }

    /// Calls `tracer` after each event with what became of it for each observer.
    func trace(asksForOld: Bool, _ tracer: @escaping @Sendable (ObserverTrace<Event>) -> Void) -> Disposable {
        let number = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            beginStrictness(&state)
            state.lastNumber += 1
            state.strict.tracers.append(Tracer(number: state.lastNumber, call: tracer))
            if asksForOld { state.askingForOld += 1 }
            return state.lastNumber
        }
        guard let number else { return Disposable {} }
        return Disposable { self.endTrace(number, asksForOld: asksForOld) }
    }

    private func endTrace(_ number: Int, asksForOld: Bool) {
        let ended = state.withLock { state -> [Tracer] in
            let ended = state.strict.tracers.filter { $0.number == number }
            state.strict.tracers.removeAll { $0.number == number }
            if asksForOld, !ended.isEmpty { state.askingForOld -= 1 }
            return ended
        }
        withExtendedLifetime(ended) {}
    }
}

extension ObserverList.State {
    /// Whether no event is being delivered.
    @usableFromInline var isStrictlyIdle: Bool { pass == nil && deliveries == 1 }

    /// Puts an event in its place in the order. It is delivered at the end of the delivery that is returned,
    /// or of the last one that is under way.
    @usableFromInline
    mutating func postStrictly(_ event: Event) -> ObserverList.Delivery? {
        strict.queue.append(ObserverList.Delivery(places, event))
        deliveries += 1
        return ObserverList.Delivery([], nil)
    }

    /// The same for an event that only a trace is told of, if there is one.
    @usableFromInline
    mutating func postUnobserved(_ event: (Kept) -> Event) -> ObserverList.Delivery? {
        guard !strict.tracers.isEmpty, !isFinished, let kept else { return nil }
        return postStrictly(event(kept))
    }

    /// Begins a pass with the next event that waits, if nothing else is under way.
    @usableFromInline
    mutating func nextStrictly() -> ObserverList.Delivery? {
        guard isStrictlyIdle, strict.next < strict.queue.count,
            let delivery = strict.queue[strict.next].take(),
            let event = delivery.event
        else { return nil }
        strict.next += 1
        if strict.next * 2 > strict.queue.count {
            strict.queue.removeFirst(strict.next)
            strict.next = 0
        }
        pass = ObserverList.Pass(event, delivery.places.count)
        return delivery
    }
}
