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

    @inlinable @inline(__always)
    func send(_ event: Event) {
        deliver(state.withLock { state in post(&state) { _ in event } })
    }

    /// Makes an event of what is kept, if there are observers, and fixes its place in the order. The caller
    /// holds the lock, and has to `deliver` outside of it.
    @inlinable @inline(__always)
    func post(_ state: inout State, _ event: (Kept) -> Event) -> Delivery? {
        state.changes &+= 1
        guard state.places.count > state.removed, !state.isFinished, let kept = state.kept else {
            return state.isStrict ? state.postUnobserved(event) : nil
        }
        let event = event(kept)
        // A strict list has always a delivery, so that others needn't ask whether they are strict.
        if state.deliveries == 0, state.pass == nil || isPassOver { return begin(event, &state) }
        if state.isStrict { return state.postStrictly(event) }
        if let pass = state.pass.take(), !interrupt(pass, &state), state.deliveries == 0 {
            return begin(event, &state)
        }
        for place in state.places { place.inbox?.append(event) }
        state.deliveries += 1
        return Delivery(state.places, nil)
    }

    /// Begins a pass, which is at the first place already.
    @inlinable @inline(__always)
    func begin(_ event: Event, _ state: inout State) -> Delivery {
        if state.removed > 0 {
            state.pass = nil
            state.freePlaces()
        }
        state.pass = Pass(event, state.places.count)
        progress.store(0, ordering: .relaxed)
        return Delivery(state.places, event)
    }

    @inlinable var isPassOver: Bool { Self.isTrivial && progress.load(ordering: .acquiring) == Self.ended }

    /// Forgets a pass that has ended without the lock. The caller holds it now.
    @inlinable
    func settle(_ state: inout State) {
        if Self.isTrivial, !state.isStrict, state.pass != nil, isPassOver { state.pass = nil }
    }

    /// Calls the observers. The caller holds no lock.
    @inlinable @inline(__always)
    func deliver(_ delivery: Delivery?) {
        guard let delivery else { return }
        if let event = delivery.event {
            pass(event, delivery.places)
        } else {
            for place in delivery.places { place.inbox?.deliver() }
            endDelivery()
        }
    }

    @inlinable @inline(__always)
    func pass(_ event: Event, _ places: [Place]) {
        var index = 0
        repeat {
            // Through a span, nothing is retained for the call.
            places.span[index].inbox?.callDirectly(event)
            index += 1
        } while index < places.count && exchangeProgress(index - 1, index)
        if !endPass(at: index - 1) { goOn(after: index - 1, places) }
    }

    @inlinable @inline(__always)
    func exchangeProgress(_ present: Int, _ next: Int) -> Bool {
        progress.compareExchange(expected: present, desired: next, ordering: .acquiringAndReleasing).exchanged
    }

    /// Ends the pass. Returns false if it was interrupted.
    @inlinable @inline(__always)
    func endPass(at index: Int) -> Bool {
        if Self.isTrivial, exchangeProgress(index, Self.ended) { return true }
        // Who interrupts it does so under the lock: afterwards, the inboxes have what is left of it.
        let ended = state.withLock { state -> (Pass, [Place])? in
            guard let pass = state.pass.take() else { return nil }
            return (pass, state.takeRest())
        }
        return withExtendedLifetime(ended) { ended != nil }
    }

    /// Puts what is left of a pass into the inboxes. The pass's thread goes on with them. Returns false if it
    /// has just ended.
    @inlinable @discardableResult
    func interrupt(_ pass: Pass, _ state: inout State) -> Bool {
        let index = progress.exchange(Self.interrupted, ordering: .acquiringAndReleasing)
        guard index != Self.ended else { return false }
        state.places[index].inbox?.claim()
        for place in state.places[index + 1..<pass.count] { place.inbox?.append(pass.event) }
        state.deliveries += 1
        return true
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
            settle(&state)
            // A strict list goes on with what was sent meanwhile.
            if state.isStrict, let next = state.nextStrictly() { return ([], next) }
            return (state.takeRest(), nil)
        }
        withExtendedLifetime(rest) {}
        if let next { passStrictly(next) }
    }
}
