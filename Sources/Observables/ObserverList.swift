// The closures that observe one observable, in order of registration, and what the observable keeps: its
// value, under the same lock. The observable owns it. Invariants: adding and removing never wait for a
// notification. A removed observer is closed at once, and its place is freed soon after. While a pass is
// under way, places keep their numbers in the list.

import Synchronization

/// Observers by closure. Usually one thread notifies at a time. It then makes a pass: it calls the observers
/// one after the other, and only notes how far it is. If there is another event before the end of the pass,
/// from an observer or from another thread, what is left of the pass goes into each observer's ``Inbox``, and
/// so do the events after it, until all inboxes are empty.
@usableFromInline
final class ObserverList<Kept: Sendable, Event: Sendable>: Sendable {
    @usableFromInline let state: Mutex<State>
    /// The place that the pass is at, or what has become of it.
    @usableFromInline let progress = Atomic(-2)

    @inlinable
    init(keeping kept: Kept) {
        state = Mutex(State(kept: kept))
    }

    /// The first number of the observers of a phase, so that numbers grow from phase to phase.
    @inlinable
    static func base(of phase: Int) -> Int { phase << 56 }

    @inlinable static var defaultPhase: Int { 5 }

    /// The progress of a pass that has been interrupted.
    @inlinable static var interrupted: Int { -1 }

    /// The progress when no pass is under way.
    @inlinable static var ended: Int { -2 }

    /// Whether nothing has to be released when an event is over. Then a pass ends without the lock.
    @inlinable static var isTrivial: Bool { _isPOD(Event.self) }

    @usableFromInline
    struct Place: Sendable {
        @usableFromInline let number: Int
        @usableFromInline let asksForOld: Bool
        /// Nil if the observer was removed.
        @usableFromInline var inbox: Inbox<Event>?

        @inlinable
        init(number: Int, asksForOld: Bool, inbox: Inbox<Event>) {
            self.number = number
            self.asksForOld = asksForOld
            self.inbox = inbox
        }
    }

    @usableFromInline
    struct Pass: Sendable {
        @usableFromInline let event: Event
        /// How many places there were when it began.
        @usableFromInline let count: Int

        @inlinable
        init(_ event: Event, _ count: Int) {
            self.event = event
            self.count = count
        }
    }

    @usableFromInline
    struct State: Sendable {
        /// Nil while it is being changed in place or held for a transaction, and after the end.
        @usableFromInline var kept: Kept?
        /// What is held for a transaction, while it can be read.
        @usableFromInline var lent: Kept?
        @usableFromInline var turn = ChangeTurn()
        @usableFromInline var places: [Place] = []
        @usableFromInline var lastNumber = 0
        @usableFromInline var removed = 0
        /// How many observers ask for the old value.
        @usableFromInline var askingForOld = 0
        /// The pass that is under way. One whose events need no release may be over: see `settle`.
        @usableFromInline var pass: Pass?
        /// How many threads deliver from inboxes, and one more in a strict list.
        @usableFromInline var deliveries = 0
        /// Whether all observers are told of an event before any is told of the next.
        @usableFromInline var isStrict = false
        /// What only a strict list needs.
        @usableFromInline var strict = StrictState()
        /// Counts the changes of what is kept.
        @usableFromInline var changes = 0
        @usableFromInline var isFinished = false

        @inlinable
        init(kept: Kept) {
            self.kept = kept
        }

        @inlinable var isIdle: Bool { pass == nil && deliveries == 0 }

        /// Frees places when half of them are of removed observers, so that removal stays cheap with any
        /// number of observers.
        @inlinable
        mutating func freePlaces() {
            guard removed > 0, removed * 2 >= places.count, pass == nil else { return }
            places.removeAll { $0.inbox == nil }
            removed = 0
        }

        /// What is to be released outside of the lock, after the end.
        @inlinable
        mutating func takeRest() -> [Place] {
            freePlaces()
            guard isFinished, isStrict ? isStrictlyIdle : isIdle else { return [] }
            defer { places = [] }
            return places
        }
    }
}

extension ObserverList {
    @inlinable var count: Int {
        state.withLock { $0.isFinished ? 0 : $0.places.count - $0.removed }
    }

    /// The number of places, including those of removed observers.
    var places: Int { state.withLock { $0.places.count } }

    @inlinable var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Adds an observer. `first` makes an event that the observer gets before this returns and before all
    /// others. A finished list accepts no observer.
    ///
    /// The handle keeps the list, but not the observable, which finishes the list when it goes.
    @inlinable
    func add(
        asksForOld: Bool = false,
        in observerPlace: ObserverPlace? = nil,
        _ observer: @escaping @Sendable (Event) -> Void,
        first: (Kept) -> Event? = { _ in nil }
    ) -> Disposable {
        let added = withKept { (state) -> (Place, isFirst: Bool)?? in
            guard let kept = state.kept else { return nil }
            guard !state.isFinished else { return .some(nil) }
            let first = first(kept)
            state.lastNumber += 1
            let place = Place(
                number: state.lastNumber + Self.base(of: observerPlace?.phase ?? Self.defaultPhase),
                asksForOld: asksForOld,
                inbox: Inbox(observer, first: first, in: observerPlace)
            )
            if let observerPlace, observerPlace.phase != Self.defaultPhase { beginStrictness(&state) }
            state.insert(place)
            if asksForOld { state.askingForOld += 1 }
            if first != nil { state.deliveries += 1 }
            return (place, first != nil)
        }
        guard let (place, isFirst) = added else { return Disposable {} }
        let number = place.number
        let disposable = Disposable { self.remove(number) }
        if isFirst {
            place.inbox?.deliverOn()
            endDelivery()
        }
        return disposable
    }

    @inlinable
    func remove(_ number: Int) {
        let remains = state.withLock { state -> (Place, [Event?])? in
            guard let index = state.index(of: number) else { return nil }
            let place = state.places[index]
            guard let inbox = state.places[index].inbox.take() else { return nil }
            state.removed += 1
            if place.asksForOld { state.askingForOld -= 1 }
            settle(&state)
            state.freePlaces()
            return (place, inbox.close())
        }
        withExtendedLifetime(remains) {}
    }

    /// Releases all observers and accepts no more. Events that were sent to them before are still delivered.
    @inlinable
    func finish(releasing: Bool = false) {
        let rest = state.withLock { state in
            state.isFinished = true
            settle(&state)
            // An interrupted pass ends under the lock, and then releases the observers.
            if Self.isTrivial, !state.isStrict, let pass = state.pass.take() { interrupt(pass, &state) }
            return (state.takeRest(), releasing ? state.kept.take() : nil)
        }
        withExtendedLifetime(rest) {}
    }
}

extension ObserverList.State {
    /// The place of an observer. Numbers grow from place to place.
    @inlinable
    func index(of number: Int) -> Int? {
        let index = firstIndex(from: number)
        return index < places.count && places[index].number == number ? index : nil
    }

    /// The first place with this number or a higher one.
    @inlinable
    func firstIndex(from number: Int) -> Int {
        var range = places.startIndex..<places.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = places[middle].number < number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    @inlinable
    mutating func insert(_ place: ObserverList.Place) {
        if let last = places.last, last.number > place.number {
            places.insert(place, at: firstIndex(from: place.number))
        } else {
            places.append(place)
        }
    }
}
