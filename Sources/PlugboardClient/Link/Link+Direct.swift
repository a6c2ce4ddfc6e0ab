// Who asks sends the request itself if the bus's thread waits and nothing else is to be sent. So the broker has it
// without the time that it takes to wake a thread. What doesn't go at once is left to the thread.
//
// What always holds: one thread at a time writes to the connection. While `isSentDirectly`, that is the one that
// set it, and further lines gather in the outbox.

import PlugboardPosix

extension Link {
    /// Sends a line after `beginDirectly`.
    func send(_ line: [UInt8], over end: SendingEnd) {
        var sent = 0
        while sent < line.count, case .bytes(let count) = end.send(line.span[sent...]) { sent += count }
        let (mustWake, waiters) = state.withLock { state in
            state.endDirectly(line[sent...], of: line.count, over: end)
                ? (state.wakes(), state.takeRoomWaiters(limit: options.outboxBytesMax)) : (false, [])
        }
        if mustWake { wakeup.signal() }
        for waiter in waiters { waiter(.success(())) }
    }
}

extension LinkState {
    /// Whether the thread has to be told that there is something to do. It is told once.
    mutating func wakes() -> Bool {
        defer { threadIsAwake = true }
        return !threadIsAwake
    }

    /// Whether a deadline comes before the thread looks at it.
    var threadWaitsTooLong: Bool { earliestDeadline < threadWaitsUntil }

    /// The connection to send a line of so many bytes, if nothing is ahead of it and the thread waits.
    mutating func beginDirectly(_ count: Int) -> SendingEnd? {
        guard let end, isJoined, !threadIsAwake, !isSentDirectly, waitingBytes == 0, parked.isEmpty,
            count <= ClientLimits.directBytesMax
        else { return nil }
        isSentDirectly = true
        takenBytes = count
        return end
    }

    /// Puts what wasn't sent before everything else. Returns whether the thread has something to do.
    mutating func endDirectly(_ rest: ArraySlice<UInt8>, of count: Int, over end: SendingEnd) -> Bool {
        // The connection may have broken meanwhile, and its requests have failed.
        guard self.end === end else { return false }
        isSentDirectly = false
        takenBytes -= count
        if !rest.isEmpty { outbox = rest + outbox }
        return !outbox.isEmpty || !parked.isEmpty
    }
}
