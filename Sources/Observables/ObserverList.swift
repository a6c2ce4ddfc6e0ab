// The closures that observe one observable, in order of registration. The observable owns it.
// Invariants: a notification works on a snapshot, so adding and removing never wait for it. A
// removed observer is closed at once, and its place is freed soon after.

import Synchronization

/// Observers by closure, each behind its ``Inbox``.
final class ObserverList<Event: Sendable>: Sendable {
    private struct State {
        var inboxes: [Inbox<Event>] = []
        var closed = 0
        var isFinished = false

        /// Frees places when half of them are closed, so that removal stays cheap with any number of
        /// observers.
        mutating func noteClosed() {
            closed += 1
            guard closed * 2 >= inboxes.count else { return }
            inboxes.removeAll { $0.isClosed }
            closed = 0
        }
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.inboxes.count - $0.closed } }

    /// The number of places, including closed ones.
    var places: Int { state.withLock { $0.inboxes.count } }

    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Puts the event into every inbox in one step, so that all observers agree on the order.
    /// The caller then has each of them `deliver()`, outside of its own locks.
    func post(_ event: Event) -> [Inbox<Event>] {
        state.withLock { state in
            for inbox in state.inboxes { inbox.append(event) }
            return state.inboxes
        }
    }

    /// A finished list accepts no observer: it closes the inbox, so that nothing is delivered from it.
    ///
    /// The handle keeps the list, but not the observable, which finishes the list when it goes. A
    /// weak reference would make every notification slower: it moves the inbox's count of
    /// references out of line.
    func add(_ inbox: Inbox<Event>) -> Disposable {
        let isAdded = state.withLock { state in
            if !state.isFinished { state.inboxes.append(inbox) }
            return !state.isFinished
        }
        guard isAdded else {
            _ = inbox.close()
            return Disposable {}
        }
        return Disposable { self.remove(inbox) }
    }

    /// Releases all observers and accepts no more. Events that were sent to them before are still delivered.
    func finish() {
        let inboxes = state.withLock { state in
            let inboxes = state.inboxes
            state = State(isFinished: true)
            return inboxes
        }
        for inbox in inboxes { _ = inbox.finish() }
    }

    private func remove(_ inbox: Inbox<Event>) {
        let remains = state.withLock { state in
            let remains = inbox.close()
            if remains != nil, !state.isFinished { state.noteClosed() }
            return remains
        }
        withExtendedLifetime(remains) {}
    }
}
