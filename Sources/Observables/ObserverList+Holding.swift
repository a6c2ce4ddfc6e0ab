// What a transaction does with the value that a list keeps. It never waits for one value while it holds
// another.

import Dispatch
import Synchronization

/// What came of taking a value out for a transaction.
enum TakeResult {
    case taken
    /// It has changed since the transaction read it.
    case changed
    /// It is being changed in place, or held for another transaction.
    case busy
}

extension ObserverList {
    /// The value and the number of its changes; nil if it isn't there.
    var noted: (kept: Kept, changes: Int)? {
        state.withLock { state in
            (state.kept ?? state.lent).map { ($0, state.changes) }
        }
    }

    /// Waits until the value is there.
    func waitUntilThere() {
        withKept { $0.kept == nil ? nil : () }
    }

    /// Takes the value out. Nobody can read it until it is put or given back.
    ///
    /// - Parameter changes: how many changes it should have had; nil for any number.
    func take(ifAt changes: Int?) -> (TakeResult, Kept?) {
        state.withLock { state in
            let isOurs = state.lent != nil && state.turn.holder == SystemThread.currentIdentity
            guard state.kept != nil || isOurs else { return (.busy, nil) }
            if let changes, changes != state.changes { return (.changed, nil) }
            let kept = state.kept.take() ?? state.lent.take()
            state.turn.holder = SystemThread.currentIdentity
            return (.taken, kept)
        }
    }

    /// Holds the value for this thread. Others can read it, but wait with their changes. Returns false if it
    /// isn't there.
    func lend() -> Bool {
        state.withLock { state in
            guard let kept = state.kept.take() else { return false }
            state.lent = kept
            state.turn.holder = SystemThread.currentIdentity
            return true
        }
    }

    /// Puts a value back that wasn't changed: one that was taken out, or the one that is lent by this thread.
    func giveBack(_ taken: Kept?) {
        let waiting = state.withLock { state -> [DispatchSemaphore] in
            if let taken {
                state.kept = taken
            } else if state.kept == nil, state.turn.holder == SystemThread.currentIdentity {
                state.kept = state.lent.take()
            }
            return state.kept == nil ? [] : state.turn.takeWaiting()
        }
        for semaphore in waiting { semaphore.signal() }
    }
}
