// Threads for blocking work. The bridge has its own, because those of Dispatch also run its tasks: if all of
// them waited for etcd, nothing else would happen for up to a second. A thread is kept for the next job.

import Dispatch
import PlugboardPosix
import Synchronization

final class TransferThreads: Sendable {
    static let shared = TransferThreads()

    /// How many threads there are at most. A bridge makes four requests at the same time.
    static let threadsMax = 16

    private let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)

    private struct State: Sendable {
        var jobs: [@Sendable () -> Void] = []
        var threads = 0
        /// How many threads wait for a job, less the jobs that wait for a thread.
        var idle = 0
    }

    /// Runs a job as soon as a thread is free. Throws if there is none and none can be started.
    func run(_ job: @escaping @Sendable () -> Void) throws {
        let needsThread = state.withLock { state in
            state.idle -= 1
            guard state.idle < 0, state.threads < Self.threadsMax else { return false }
            state.threads += 1
            state.idle += 1
            return true
        }
        if needsThread { try startThread() }
        state.withLock { $0.jobs.append(job) }
        work.signal()
    }

    private func startThread() throws {
        do {
            try Background.start { [self] in workOn() }
        } catch {
            let isAlone = state.withLock { state in
                state.threads -= 1
                // Either there is no job after all, or it waits for another thread.
                state.idle += state.threads == 0 ? 0 : -1
                return state.threads == 0
            }
            if isAlone { throw error }
        }
    }

    private func workOn() {
        while true {
            work.wait()
            let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
            job?()
            state.withLock { $0.idle += 1 }
        }
    }
}
