// The life of an observable thread and its work. The thread object owns it. Invariants: the thread
// does all accepted work, in order. Once it has ended it accepts none.

import Dispatch
import Synchronization

/// The system could not start a thread.
public struct ThreadStartFailure: Error, Equatable {
    /// The system's number for the reason, as in `errno`.
    public let code: Int32
}

/// A queue of actions and the one thread that performs them.
final class ThreadWork: Sendable {
    typealias Action = @Sendable () -> Void

    private enum Phase { case unstarted, running, ended }

    private struct State {
        var phase = Phase.unstarted
        var isStopped = false
        var actions: [Action] = []
    }

    private let state = Mutex(State())
    private let identity = Atomic(SystemThread.noIdentity)
    private let wakeUp = DispatchSemaphore(value: 0)
    /// Signalled by a stop. Whoever has waited for it signals it again, for others that sleep.
    private let stopped = DispatchSemaphore(value: 0)
    private let running = DispatchGroup()

    var isStopped: Bool { state.withLock { $0.isStopped } }

    var isCurrent: Bool { identity.load(ordering: .acquiring) == SystemThread.currentIdentity }

    func start(_ main: @escaping Action) throws(ThreadStartFailure) {
        let isFirst = state.withLock { state in
            defer { state.phase = state.phase == .unstarted ? .running : state.phase }
            return state.phase == .unstarted
        }
        guard isFirst else { return }
        running.enter()
        do {
            try SystemThread.start { self.run(main) }
        } catch {
            state.withLock { $0.phase = .unstarted }
            running.leave()
            throw error
        }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.signal()
        stopped.signal()
    }

    func join() {
        if !isCurrent { running.wait() }
    }

    func add(_ action: @escaping Action) -> Bool {
        let isAccepted = state.withLock { state in
            if state.phase != .ended { state.actions.append(action) }
            return state.phase != .ended
        }
        if isAccepted { wakeUp.signal() }
        return isAccepted
    }

    func perform() {
        for action in take() { action() }
    }

    /// Waits for the time or for the stop, and leaves all work where it is. Returns false if stopped.
    func sleep(for time: Duration) -> Bool {
        let end = ContinuousClock.now + time
        while !isStopped {
            let left = end - .now
            guard left > .zero else { return true }
            // At most an hour at once, because longer times may be too long for the clock below.
            let seconds = min(left, .seconds(3600)) / .seconds(1)
            if stopped.wait(timeout: .now() + seconds) == .success { stopped.signal() }
        }
        return false
    }

    func performUntilStopped() {
        while !isStopped {
            perform()
            wakeUp.wait()
        }
    }

    private func run(_ main: Action) {
        identity.store(SystemThread.currentIdentity, ordering: .releasing)
        main()
        while !endIfIdle() { perform() }
        identity.store(SystemThread.noIdentity, ordering: .releasing)
        running.leave()
    }

    private func take() -> [Action] {
        state.withLock { state in
            let actions = state.actions
            state.actions = []
            return actions
        }
    }

    private func endIfIdle() -> Bool {
        state.withLock { state in
            if state.actions.isEmpty { state.phase = .ended }
            return state.actions.isEmpty
        }
    }
}
