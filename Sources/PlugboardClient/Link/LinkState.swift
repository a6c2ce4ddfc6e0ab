// What callers and the bus's thread share, under the one lock of `Link`. Plain
// bookkeeping: nothing here waits, calls out or touches a descriptor.

/// The state of a connection and everything that waits for it.
struct LinkState {
    enum Phase {
        /// No connection; the last attempt's outcome where there was one.
        case apart(BusError?)
        /// Greeted: the thread writes what is in the outbox.
        case joined
        case closed(BusError?)
    }

    /// A request that was not answered yet.
    struct Pending {
        let operation: String
        let complete: Completion
        /// In nanoseconds of the monotonic clock; `.max` for none.
        let deadline: UInt64
        /// The line while it waits for a connection or for room.
        var parked: [UInt8]?
        /// The subscription to become live once the broker agreed.
        var registration: KeptSubscription?
    }

    typealias Completion = @Sendable (Result<Reply, any Error>) -> Void
    typealias Waiter = @Sendable (Result<Void, any Error>) -> Void

    var phase = Phase.apart(nil)
    /// Ended by `stop()`: subscriptions are over, requests still go.
    var isStopped = false
    /// Lines for the thread to take.
    var outbox: [UInt8] = []
    /// Bytes that the thread took and has not written yet.
    var takenBytes = 0
    var pending: [Int: Pending] = [:]
    /// Pending requests that are not in the outbox yet, oldest first, and their bytes.
    var parked: [Int] = []
    var parkedBytes = 0
    var registrations: [Int: KeptSubscription] = [:]
    /// What this client serves, by key or pattern.
    var servers: [String: Serving] = [:]
    /// The will: what the broker writes when the connection ends without goodbye.
    var will: Write?
    /// What this client announces, by a number of its own.
    var announcements: [Int: Announcement] = [:]
    var nextID = 1
    var nextSub = 1
    /// No deadline of a pending request is earlier.
    var earliestDeadline = UInt64.max
    /// The thread will look at this state again before it waits.
    var threadIsAwake = true
    var pipelined = Pipelined()
    /// Replies that are still missing before a new connection counts as set up.
    var setupLeft = 0
    /// Of the newest connection.
    var greeting: Greeting?
    /// Of the newest one that was told to the program.
    var announced: Greeting?
    var roomWaiters: [Int: Waiter] = [:]
    var stopWaiters: [Int: @Sendable () -> Void] = [:]
    /// Subscriptions of remote observables whose changes wait for the first answer.
    var holding: Set<Int> = []
    /// Called once the first connection is made, or never will be.
    var opening: Waiter?

    /// What is known about writes that nobody waits for.
    struct Pipelined {
        /// Some were handed over since the last barrier.
        var isUnconfirmed = false
        /// A connection broke with some unconfirmed.
        var wasLost = false

        /// Begins anew at a barrier, and says whether anything was lost before it.
        mutating func takeLost() -> Bool {
            defer { self = Pipelined() }
            return wasLost
        }
    }

    var isJoined: Bool {
        if case .joined = phase { true } else { false }
    }

    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    /// Whether it is news that another user's broker is now at the socket. The bus doesn't report
    /// each further attempt, but this may end a wait in vain.
    func meetsStranger(_ reason: BusError) -> Bool {
        guard case .untrusted = reason, opening == nil else { return false }
        if case .apart(reason) = phase { return false }
        return true
    }

    var waitingBytes: Int { outbox.count + takenBytes }

    func hasRoom(for count: Int, limit: Int) -> Bool {
        waitingBytes == 0 || waitingBytes + count <= limit
    }

    mutating func takeID() -> Int {
        defer { nextID += 1 }
        return nextID
    }

    mutating func takeSub() -> Int {
        defer { nextSub += 1 }
        return nextSub
    }

    /// Moves parked requests to the outbox as far as there is room.
    mutating func moveParked(limit: Int) {
        guard case .joined = phase, !parked.isEmpty else { return }
        var moved = 0
        for id in parked {
            guard let line = pending[id]?.parked else {
                moved += 1
                continue
            }
            guard hasRoom(for: line.count, limit: limit) else { break }
            outbox += line
            parkedBytes -= line.count
            pending[id]?.parked = nil
            moved += 1
        }
        parked.removeFirst(moved)
    }

    /// Removes a pending request, whatever ends it.
    mutating func take(_ id: Int) -> Pending? {
        guard let request = pending.removeValue(forKey: id) else { return nil }
        if let line = request.parked {
            parkedBytes -= line.count
            // Requests that were given up leave their number behind, but not for ever.
            if parked.count > 2 * pending.count + 64 { parked.removeAll { pending[$0] == nil } }
        }
        return request
    }

    /// Removes everything that was handed to a connection that has ended. Parked requests were
    /// never sent; they go on waiting, unless the program is stopping.
    mutating func takeHopeless() -> [Pending] {
        let ids = pending.filter { $0.value.parked == nil || isStopped }.keys.sorted()
        return ids.compactMap { take($0) }
    }

    /// Removes the requests that are due, and finds the next deadline.
    mutating func takeExpired(_ now: UInt64) -> [Pending] {
        guard earliestDeadline <= now else { return [] }
        var expired: [Int] = []
        earliestDeadline = .max
        for (id, request) in pending {
            if request.deadline <= now {
                expired.append(id)
            } else {
                earliestDeadline = min(earliestDeadline, request.deadline)
            }
        }
        return expired.sorted().compactMap { take($0) }
    }
}
