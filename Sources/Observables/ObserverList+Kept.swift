// What a list keeps for its observable: read, replaced, and changed under the lock or in place. A change in
// place takes the value out of the list until it is done, since nobody should wait for a lock that the code
// of the user holds without knowing it. Until then other threads wait for the value here.

import Dispatch
import Synchronization

/// Which thread has the kept value, and who waits for it.
@usableFromInline
struct ChangeTurn: Sendable {
    @usableFromInline var holder: UInt = 0
    @usableFromInline var waiting: [DispatchSemaphore] = []

    @inlinable
    init() {}

    /// Those to wake up, since the value is there again.
    @inlinable
    mutating func takeWaiting() -> [DispatchSemaphore] {
        guard !waiting.isEmpty else { return [] }
        defer { waiting = [] }
        return waiting
    }
}

extension ObserverList {
    @inlinable var kept: Kept {
        withKept { $0.kept ?? $0.lent }
    }

    /// Runs `body` under the lock, once the kept value is there. `body` returns nil if it isn't.
    @inlinable @inline(__always)
    func withKept<Result: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result?
    ) throws(Failure) -> Result {
        while true {
            let result = try state.withLock { (state) throws(Failure) -> Result? in try body(&state) }
            if let result { return result }
            waitForKept()
        }
    }

    /// Exchanges the kept value. The caller has to `deliver`, and to release the old value outside of the lock.
    @inlinable @inline(__always)
    func replace(_ value: inout Kept, _ event: (_ old: Kept, _ new: Kept) -> Event) -> Delivery? {
        while true {
            var isThere = false
            let delivery = state.withLock { state -> Delivery? in
                guard let old = state.kept.take() else { return nil }
                isThere = true
                state.kept = value
                value = old
                return post(&state) { event(old, $0) }
            }
            if isThere { return delivery }
            waitForKept()
        }
    }

    /// Takes the value out, with a copy if anybody asks for the old one. `putBack` has to follow.
    @inlinable @inline(__always)
    func takeOut() -> (kept: Kept, old: Kept?) {
        withKept { state in
            guard let kept = state.kept.take() else { return nil }
            state.turn.holder = SystemThread.currentIdentity
            return (kept, state.askingForOld > 0 ? kept : nil)
        }
    }

    /// Puts the value back. The caller has to `deliver`.
    @inlinable @inline(__always)
    func putBack(_ kept: Kept, _ event: (Kept) -> Event) -> Delivery? {
        let (delivery, waiting) = state.withLock { state in
            state.kept = kept
            let delivery = post(&state, event)
            return (delivery, state.turn.takeWaiting())
        }
        for semaphore in waiting { semaphore.signal() }
        return delivery
    }

    @usableFromInline
    func waitForKept() {
        let semaphore: DispatchSemaphore? = state.withLock { state in
            guard state.kept == nil else { return nil }
            if state.turn.holder == SystemThread.currentIdentity {
                // The body of a transaction uses the value directly: it is held no longer.
                state.kept = state.lent.take()
                precondition(
                    state.kept != nil, "an observable value is used by the code that changes it in place"
                )
                for semaphore in state.turn.takeWaiting() { semaphore.signal() }
                return nil
            }
            let semaphore = DispatchSemaphore(value: 0)
            state.turn.waiting.append(semaphore)
            return semaphore
        }
        semaphore?.wait()
    }
}

extension ObserverList.State {
    /// Changes the kept value, and keeps the old one if anybody asks for it or the change can throw. Returns
    /// nil if there is no value. If it throws, nothing has changed.
    @inlinable
    mutating func change<Result, Failure: Error>(
        _ change: (inout Kept) throws(Failure) -> Result
    ) throws(Failure) -> (old: Kept?, result: Result)? {
        guard var kept = self.kept.take() else { return nil }
        defer { self.kept = kept }
        if Failure.self == Never.self, askingForOld == 0 { return (nil, try change(&kept)) }
        let old = kept
        var new = kept
        let result = try change(&new)
        kept = new
        return (old, result)
    }
}
