// How an event comes to the observers of a list: straight away in a pass, or through their inboxes. The order
// of the events is fixed under the list's lock. The observers are called outside of it.

import Synchronization

extension ObserverList {
    /// What a thread has to deliver after it has left the lock.
    @usableFromInline
    struct Delivery: Sendable {
        @usableFromInline let places: [Place]
        /// The event of a pass; nil if the events wait in the inboxes, or in the queue of a strict list.
        @usableFromInline let event: Event?

        @inlinable
        init(_ places: [Place], _ event: Event?) {
            self.places = places
            self.event = event
        }
    }

    @inlinable
    func send(_ event: Event) {
        deliver(state.withLock { state in post(&state) { _ in event } })
    }

    /// Makes an event of what is kept, if there are observers, and fixes its place in the order. The caller
    /// holds the lock, and has to `deliver` outside of it.
    @inlinable
    func post(_ state: inout State, _ event: (Kept) -> Event) -> Delivery? {
        state.changes &+= 1
        guard state.places.count > state.removed, !state.isFinished, let kept = state.kept else {
            return state.isStrict ? state.postUnobserved(event) : nil
        }
        let event = event(kept)
        if state.isIdle {
            state.pass = Pass(event, state.places.count)
            // The pass is at the first place already.
            progress.store(0, ordering: .relaxed)
            return Delivery(state.places, event)
        }
        // A strict list is never idle, so that others needn't ask whether they are strict.
        if state.isStrict { return state.postStrictly(event) }
        if let pass = state.pass.take() { interrupt(pass, &state) }
        for place in state.places { place.inbox?.append(event) }
        state.deliveries += 1
        return Delivery(state.places, nil)
    }

    /// Calls the observers. The caller holds no lock.
    @inlinable
    func deliver(_ delivery: Delivery?) {
        guard let delivery else { return }
        if let event = delivery.event {
            pass(event, delivery.places)
        } else {
            for place in delivery.places { place.inbox?.deliver() }
            endDelivery()
        }
    }

    @inlinable
    func pass(_ event: Event, _ places: [Place]) {
        var index = 0
        repeat {
            // Through a span, nothing is retained for the call.
            places.span[index].inbox?.callDirectly(event)
            index += 1
        } while index < places.count
            && progress.compareExchange(expected: index - 1, desired: index, ordering: .acquiringAndReleasing)
                .exchanged
        if !endPass() { goOn(after: index - 1, places) }
    }

    /// Ends the pass. Returns false if it was interrupted.
    @inlinable
    func endPass() -> Bool {
        let ended = state.withLock { state -> (Pass, [Place])? in
            guard let pass = state.pass.take() else { return nil }
            return (pass, state.takeRest())
        }
        return withExtendedLifetime(ended) { ended != nil }
    }

    /// Puts what is left of a pass into the inboxes. The pass's thread goes on with them.
    @inlinable
    func interrupt(_ pass: Pass, _ state: inout State) {
        let index = progress.exchange(Self.interrupted, ordering: .acquiringAndReleasing)
        state.places[index].inbox?.claim()
        for place in state.places[index + 1..<pass.count] { place.inbox?.append(pass.event) }
        state.deliveries += 1
    }

    /// Goes on after an interruption, which found the pass at the place `index`.
    @inlinable
    func goOn(after index: Int, _ places: [Place]) {
        places[index].inbox?.deliverOn()
        for place in places[(index + 1)...] { place.inbox?.deliver() }
        endDelivery()
    }

    @inlinable
    func endDelivery() {
        let (rest, next) = state.withLock { state -> ([Place], Delivery?) in
            state.deliveries -= 1
            // A strict list goes on with what was sent meanwhile.
            if state.isStrict, let next = state.nextStrictly() { return ([], next) }
            return (state.takeRest(), nil)
        }
        withExtendedLifetime(rest) {}
        if let next { passStrictly(next) }
    }
}
