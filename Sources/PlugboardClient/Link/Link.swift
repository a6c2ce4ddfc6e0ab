// The connection as its callers see it. Requests may come from any thread. The bus's thread (`LinkThread`)
// sends them, or who asks, if it waits (`Link+Direct`). The `Bus` and the thread hold it. No callback is called
// while the lock is held, and no caller waits for the broker.

import Observables
import PlugboardPosix
import PlugboardWire
import Synchronization

/// A connection that is made again when it breaks, with its requests and subscriptions.
final class Link: Sendable {
    let socketPath: String
    let name: String?
    let options: Bus.Options
    /// The users whose broker the bus accepts.
    let trusted: TrustedUsers
    let connectionState = ObservableValue(ConnectionState.connecting)
    let faults = FaultObservers()
    let wakeup: Wakeup
    /// The calls and events that are handled one at a time.
    let queue = HandlerQueue()
    let state = Mutex(LinkState())
    /// How often the thread has read from the broker. A stop waits as long as this grows.
    let reads = Atomic(0)
    /// How many loops are behind that hold the link back.
    private let readersBehind = Atomic(0)

    init(socketPath: String, name: String?, options: Bus.Options) throws {
        self.socketPath = socketPath
        self.name = name
        self.options = options
        trusted = try TrustedUsers(naming: options.peer)
        wakeup = try Wakeup()
    }

    /// Sends a request. Calls `complete` once, with the reply or the failure. The bus's thread calls it,
    /// except after `close`, `stop` or `cancel`: then the thread that called these. A failure that is
    /// known at once is returned instead.
    /// - Parameter timeout: nanoseconds; `.max` means none.
    func start(
        _ request: ObjectWriter,
        timeout: UInt64,
        id: Int,
        registration: KeptSubscription? = nil,
        complete: @escaping LinkState.Completion
    ) -> BusError? {
        let line = request.line(id: id)
        if let failure = Self.lengthFailure(line) { return failure }
        let pending = LinkState.Pending(
            operation: request.operation,
            complete: complete,
            deadline: Self.deadline(after: timeout),
            registration: registration
        )
        let (failure, end, mustWake) = state.withLock { state in
            let end = state.beginDirectly(line.count)
            let failure = add(pending, line, id, isSent: end != nil, to: &state)
            let mustWake = end == nil || state.threadWaitsTooLong || isHeldBack
            return (failure, end, mustWake ? state.wakes() : false)
        }
        if mustWake { wakeup.signal() }
        if let end { send(line, over: end) }
        return failure
    }

    /// Adds a request, and its line to the outbox or to those that wait.
    private func add(
        _ pending: LinkState.Pending, _ line: [UInt8], _ id: Int, isSent: Bool, to state: inout LinkState
    ) -> BusError? {
        if case .closed = state.phase { return .closed }
        if case .apart(let reason) = state.phase, state.isStopped { return reason ?? .closed }
        var pending = pending
        if isSent {
            // Whoever asked sends it.
        } else if case .joined = state.phase, state.parked.isEmpty,
            state.hasRoom(for: line.count, limit: options.outboxBytesMax)
        {
            state.outbox += line
        } else {
            guard state.parkedBytes + line.count <= options.outboxBytesMax else {
                return .outboxFull(limit: options.outboxBytesMax)
            }
            pending.parked = line
            state.parked.append(id)
            state.parkedBytes += line.count
        }
        state.pending[id] = pending
        state.earliestDeadline = min(state.earliestDeadline, pending.deadline)
        return nil
    }

    /// Sends a request and waits for its reply, until the time-out. Cancelling the task ends the wait,
    /// but what was sent stays sent.
    /// - Parameter onReply: called as `complete` in `start`. After a reply, that is before the next line is
    ///   read.
    func request(
        _ request: ObjectWriter,
        timeout: Duration?,
        registration: KeptSubscription? = nil,
        onReply: @escaping LinkState.Completion = { _ in }
    ) async throws -> Reply {
        let id = state.withLock { $0.takeID() }
        let timeout = (timeout ?? options.requestTimeout).nanoseconds
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let failure = start(request, timeout: timeout, id: id, registration: registration) {
                    onReply($0)
                    continuation.resume(with: $0)
                }
                if let failure { continuation.resume(throwing: failure) }
                // The task was cancelled before there was anything to cancel.
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Refuses a line that is too long, in the broker's words. The broker would skip it, and its answer
    /// couldn't say which request it is for.
    private static func lengthFailure(_ line: [UInt8]) -> BusError? {
        let count = line.count - 1
        guard count > Limits.lineBytesMax else { return nil }
        let message = "the request has \(count) bytes, a line has at most \(Limits.lineBytesMax)"
        return .refused(code: .tooLong, message: message, hint: nil, revision: nil)
    }

    /// Adds a request whose answer nobody waits for. Throws if it can't be accepted now.
    func enqueue(_ request: ObjectWriter) throws(BusError) {
        let line = request.line
        if let failure = Self.lengthFailure(line) { throw failure }
        let failure: BusError? = change { state in
            switch state.phase {
            case .closed: return .closed
            case .apart(let reason): return reason ?? .disconnected(reason: "not connected yet")
            case .joined: break
            }
            guard state.hasRoom(for: line.count, limit: options.outboxBytesMax) else {
                return .outboxFull(limit: options.outboxBytesMax)
            }
            state.outbox += line
            state.pipelined.isUnconfirmed = true
            return nil
        }
        if let failure { throw failure }
    }

    /// Waits until the outbox is at most half full.
    func room() async throws {
        let id = state.withLock { $0.takeID() }
        let halfFull = options.outboxBytesMax / 2
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = change { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    switch state.phase {
                    case .closed: return .failure(BusError.closed)
                    case .apart(let reason):
                        return .failure(reason ?? .disconnected(reason: "not connected yet"))
                    case .joined where state.waitingBytes <= halfFull: return .success(())
                    case .joined:
                        state.roomWaiters[id] = { continuation.resume(with: $0) }
                        return nil
                    }
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.roomWaiters.removeValue(forKey: id) }
            waiter?(.failure(CancellationError()))
        }
    }

    /// Stops waiting for a reply. If it is for a subscription, unsubscribes.
    func cancel(_ id: Int) {
        let request = change { $0.take(id) }
        guard let request else { return }
        takeBack(request)
        request.complete(.failure(CancellationError()))
    }

    /// Unsubscribes if a request to subscribe was sent and then given up.
    func takeBack(_ request: LinkState.Pending) {
        guard let registration = request.registration, request.parked == nil else { return }
        sendUnsubscribe(registration.sub)
    }

    /// A loop has fallen behind, or has caught up. Any thread may say so, in any order.
    func note(readerIsBehind isBehind: Bool) {
        readersBehind.add(isBehind ? 1 : -1, ordering: .acquiringAndReleasing)
        if !isBehind { change { _ in } }
    }

    /// Whether a loop that is behind holds the link back.
    var isHeldBack: Bool { readersBehind.load(ordering: .acquiring) > 0 }

    /// Whether the thread reads. If the link is held back, it does so only while somebody waits for a reply
    /// or for room, because it may be that loop. The broker hears nobody who doesn't read, so room needs it,
    /// too.
    var readsOn: Bool { !isHeldBack || state.withLock { $0.isWaitedFor } }

    /// Changes the state under the lock, then wakes the thread if it waits.
    func change<Result: Sendable>(_ body: (inout LinkState) -> Result) -> Result {
        let (result, mustWake) = state.withLock { state in
            let mustWake = state.wakes()
            return (body(&state), mustWake)
        }
        if mustWake { wakeup.signal() }
        return result
    }

    static func deadline(after timeout: UInt64) -> UInt64 {
        let (deadline, overflow) = MonotonicClock.nanoseconds().addingReportingOverflow(timeout)
        return overflow ? .max : deadline
    }
}
