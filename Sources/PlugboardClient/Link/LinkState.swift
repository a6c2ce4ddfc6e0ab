// What callers and the bus's thread share, under the only lock of `Link`. Nothing here waits, calls back
// or touches a descriptor.

import PlugboardPosix

/// The state of a connection, and everything that waits for it.
struct LinkState {
    enum Phase {
        /// There is no connection. The error is that of the last attempt, if there was one.
        case apart(BusError?)
        /// The broker has greeted, and the thread writes what is in the outbox.
        case joined
        case closed(BusError?)
    }

    /// A request that wasn't answered yet.
    struct Pending {
        let operation: String
        let complete: Completion
        /// In nanoseconds of the monotonic clock; `.max` means none.
        let deadline: UInt64
        /// The request's line, while it waits for a connection or for room.
        var parked: [UInt8]?
        /// The subscription that becomes live when the broker accepts it.
        var registration: KeptSubscription?
        /// Whether the link asks for itself, so that nobody of the program waits for the reply.
        var isOwn = false
    }

    typealias Completion = @Sendable (Result<Reply, any Error>) -> Void
    typealias Waiter = @Sendable (Result<Void, any Error>) -> Void

    var phase = Phase.apart(nil)
    /// Whether `stop()` was called. Then subscriptions have ended, and requests still work.
    var isStopped = false
    /// Lines for the thread to write.
    var outbox: [UInt8] = []
    /// Bytes that the thread took and hasn't written yet.
    var takenBytes = 0
    var pending: [Int: Pending] = [:]
    /// Requests that are not in the outbox yet, oldest first; and their bytes.
    var parked: [Int] = []
    var parkedBytes = 0
    var registrations: [Int: KeptSubscription] = [:]
    /// What this client serves, by key or pattern.
    var servers: [String: Serving] = [:]
    /// The will: a write that the broker makes if the connection ends without goodbye.
    var will: Write?
    var health = HealthTelling()
    /// What this client announces, by a number for each announcement.
    var announcements: [Int: Announcement] = [:]
    var nextID = 1
    var nextSub = 1
    /// No pending request has an earlier deadline.
    var earliestDeadline = UInt64.max
    /// Whether the thread will look at this state again before it waits.
    var threadIsAwake = true
    /// The deadline at which the thread will look at it in any case.
    var threadWaitsUntil = UInt64.max
    /// The connection, for those who send a line themselves; nil while there is none.
    var end: SendingEnd?
    /// Whether somebody does. What else is to be sent waits for that.
    var isSentDirectly = false
    var pipelined = Pipelined()
    /// How many replies are missing before a new connection is set up.
    var setupLeft = 0
    /// The greeting of the newest connection.
    var greeting: Greeting?
    /// The newest greeting that was reported to the program.
    var announced: Greeting?
    var roomWaiters: [Int: Waiter] = [:]
    /// The barrier before a stop, for which no loop waits.
    private var stopID: Int?
    var stopWaiters: [Int: @Sendable () -> Void] = [:]
    /// Subscriptions of remote observables that hold changes until the first answer.
    var holding: Set<Int> = []
    /// Called when the first connection was made or has failed.
    var opening: Waiter?

    /// What is known about pipelined writes.
    struct Pipelined {
        /// Whether any were sent since the last barrier.
        var isUnconfirmed = false
        /// Whether a connection broke while any were unconfirmed.
        var wasLost = false

        /// Begins anew at a barrier. Returns whether anything may be lost before it.
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

    /// Whether another user's broker is at the socket, and the last attempt found something else. That is
    /// reported, because the program may wait in vain.
    func meetsStranger(_ reason: BusError) -> Bool {
        guard case .untrusted = reason, opening == nil else { return false }
        if case .apart(reason) = phase { return false }
        return true
    }

    var waitingBytes: Int { outbox.count + takenBytes }

    /// Whether the program may be waiting for the broker.
    var isWaitedFor: Bool { !roomWaiters.isEmpty || pending.contains { !$0.value.isOwn && $0.key != stopID } }

    func hasRoom(for count: Int, limit: Int) -> Bool {
        waitingBytes == 0 || waitingBytes + count <= limit
    }

    mutating func takeID() -> Int {
        defer { nextID += 1 }
        return nextID
    }

    mutating func takeStopID() -> Int {
        let id = takeID()
        stopID = id
        return id
    }

    mutating func takeSub() -> Int {
        defer { nextSub += 1 }
        return nextSub
    }

    /// Moves requests that wait to the outbox, as long as there is room.
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

    /// Those who wait for room, if there is.
    mutating func takeRoomWaiters(limit: Int) -> [Waiter] {
        guard !roomWaiters.isEmpty, waitingBytes <= limit / 2 else { return [] }
        defer { roomWaiters = [:] }
        return Array(roomWaiters.values)
    }

    /// Removes a pending request.
    mutating func take(_ id: Int) -> Pending? {
        guard let request = pending.removeValue(forKey: id) else { return nil }
        if let line = request.parked {
            parkedBytes -= line.count
            // Requests that were given up leave their number in `parked`. This removes such numbers now
            // and then.
            if parked.count > 2 * pending.count + 64 { parked.removeAll { pending[$0] == nil } }
        }
        return request
    }

    /// Removes all requests that were sent on a connection that has ended. Requests that weren't sent go
    /// on waiting, unless the program is stopping.
    mutating func takeHopeless() -> [Pending] {
        let ids = pending.filter { $0.value.parked == nil || isStopped }.keys.sorted()
        return ids.compactMap { take($0) }
    }

    /// Removes the requests whose deadline has passed, and finds the next deadline.
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
