// How the bus's thread uses the link: what it asks in each turn. The lock is held only for a moment,
// never during a system call or while a waiter is resumed.

extension Link {
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Whether `connect` still waits for the first connection.
    var isOpening: Bool { state.withLock { $0.opening != nil } }

    /// Whether the broker has answered the first requests of the connection.
    var isSetUp: Bool { state.withLock { $0.isJoined && $0.setupLeft == 0 } }

    func registration(_ sub: Int) -> KeptSubscription? {
        state.withLock { $0.registrations[sub] }
    }

    /// Swaps an array that was written for the bytes to write next.
    func take(_ sending: inout [UInt8]) {
        sending.removeAll(keepingCapacity: sending.capacity <= 4 * ClientLimits.readBytes)
        let spare = sending
        sending = []
        sending = state.withLock { state in
            guard !state.isSentDirectly else { return spare }
            state.moveParked(limit: options.outboxBytesMax)
            let taken = state.outbox
            state.outbox = spare
            state.takenBytes = taken.count
            return taken
        }
    }

    func noteWritten(_ count: Int) {
        let waiters: [LinkState.Waiter] = state.withLock { state in
            state.takenBytes -= count
            return state.takeRoomWaiters(limit: options.outboxBytesMax)
        }
        for waiter in waiters { waiter(.success(())) }
    }

    /// What the thread does next.
    enum Next {
        /// Wait, at most until this deadline. From then on, a change wakes the thread.
        case wait(UInt64)
        case write
        case end
    }

    func next(isBlocked: Bool) -> Next {
        state.withLock { state in
            if state.isClosed { return .end }
            if !isBlocked, !state.isSentDirectly, !state.outbox.isEmpty { return .write }
            (state.threadIsAwake, state.threadWaitsUntil) = (false, state.earliestDeadline)
            return .wait(state.earliestDeadline)
        }
    }

    func noteAwake() {
        state.withLock { $0.threadIsAwake = true }
    }
}
