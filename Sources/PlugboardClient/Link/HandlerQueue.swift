// The calls and events that handlers get one at a time, in the order of their arrival. The link owns it, and
// its lock protects it. The bus's thread adds to it. A task takes from it, and ends when nothing waits. What
// waits has a limit for each owner. Handlers that take no turns run beside it, and are only counted.

import Synchronization

/// Runs handlers one after the other.
final class HandlerQueue: Sendable {
    /// Whose limit counts what waits.
    enum Owner: Hashable, Sendable {
        /// All calls of the connection.
        case calls
        /// The events of a subscription.
        case events(sub: Int)
    }

    /// A call or an event with its handler.
    struct Job: Sendable {
        let owner: Owner
        let bytes: Int
        /// The revision of an event.
        var revision: Int?
        let run: @Sendable () async -> Void
    }

    private let state = Mutex(Waiting())

    /// Adds a job, and starts it if nothing else runs. Returns false if more than `bytesMax` bytes of its
    /// owner would wait. A job that waits alone is never too large.
    func add(_ job: Job, bytesMax: Int) -> Bool {
        let (isAdded, mustStart) = state.withLock { state in
            guard state.hasRoom(for: job, bytesMax: bytesMax) else { return (false, false) }
            state.append(job)
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        if mustStart { Task { await self.run() } }
        return isAdded
    }

    /// Runs a handler beside all others.
    func runBeside(_ handler: @escaping @Sendable () async -> Void) {
        state.withLock { $0.besideCount += 1 }
        Task {
            await perform(handler, isInOrder: false)
            let waiters = state.withLock { state in
                state.besideCount -= 1
                return state.takeWaiters()
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// Whether the job that comes next is an event of this revision.
    func beginsWith(_ revision: Int, of owner: Owner) -> Bool {
        state.withLock { state in
            guard let next = state.next else { return false }
            return next.owner == owner && next.revision == revision
        }
    }

    /// Waits until nothing runs or waits, at most for this long. A handler doesn't wait for itself.
    func settle(within limit: Duration) async {
        guard HandlerTurn.current?.isRunning(on: self) != true else { return }
        await withTaskGroup { group in
            group.addTask { await self.waitUntilIdle() }
            group.addTask {
                // Cancellation ends the sleep early, and that is all it should do.
                try? await Task.sleep(for: limit)
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func run() async {
        while let job = nextJob() { await perform(job.run, isInOrder: true) }
    }

    private func perform(_ handler: @Sendable () async -> Void, isInOrder: Bool) async {
        let turn = HandlerTurn(self, isInOrder: isInOrder)
        await HandlerTurn.$current.withValue(turn) { await handler() }
        turn.end()
    }

    private func nextJob() -> Job? {
        let (job, waiters) = state.withLock { state in
            let job = state.take()
            state.isRunning = job != nil
            return (job, state.takeWaiters())
        }
        for waiter in waiters { waiter.resume() }
        return job
    }

    private func waitUntilIdle() async {
        let id = state.withLock { $0.takeWaiterID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isOver = state.withLock { state in
                    if state.isIdle || Task.isCancelled { return true }
                    state.waiters[id] = waiter
                    return false
                }
                if isOver { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}

/// What waits in a queue, and who waits for its end.
private struct Waiting {
    /// The jobs that come next, the first one last; and those after them, in order.
    private var nearJobs: [HandlerQueue.Job] = []
    private var laterJobs: [HandlerQueue.Job] = []
    private var bytes: [HandlerQueue.Owner: Int] = [:]
    private var nextWaiterID = 0
    var isRunning = false
    /// How many handlers run beside those that take turns.
    var besideCount = 0
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]

    var isIdle: Bool { !isRunning && besideCount == 0 }

    /// Those who wait for the end of everything, if it has come.
    mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
        guard isIdle else { return [] }
        defer { waiters = [:] }
        return Array(waiters.values)
    }

    var next: HandlerQueue.Job? { nearJobs.last ?? laterJobs.first }

    func hasRoom(for job: HandlerQueue.Job, bytesMax: Int) -> Bool {
        guard let waiting = bytes[job.owner] else { return true }
        return waiting + job.bytes <= bytesMax
    }

    mutating func append(_ job: HandlerQueue.Job) {
        laterJobs.append(job)
        bytes[job.owner, default: 0] += job.bytes
    }

    mutating func take() -> HandlerQueue.Job? {
        if nearJobs.isEmpty {
            swap(&nearJobs, &laterJobs)
            nearJobs.reverse()
        }
        guard let job = nearJobs.popLast() else { return nil }
        let rest = (bytes[job.owner] ?? 0) - job.bytes
        bytes[job.owner] = rest > 0 ? rest : nil
        return job
    }

    mutating func takeWaiterID() -> Int {
        defer { nextWaiterID += 1 }
        return nextWaiterID
    }
}

/// One run of a handler in a queue, or beside it. The handler finds it, and so do the tasks that it begins.
final class HandlerTurn: Sendable {
    @TaskLocal static var current: HandlerTurn?

    /// Whether others wait for it.
    let isInOrder: Bool
    private let queue: HandlerQueue
    private let isOver = Atomic(false)

    init(_ queue: HandlerQueue, isInOrder: Bool) {
        self.queue = queue
        self.isInOrder = isInOrder
    }

    /// Whether the queue still waits for this handler.
    func isRunning(on queue: HandlerQueue) -> Bool {
        self.queue === queue && !isOver.load(ordering: .acquiring)
    }

    func end() { isOver.store(true, ordering: .releasing) }
}
