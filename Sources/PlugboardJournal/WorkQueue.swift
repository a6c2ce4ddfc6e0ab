// A thread that does pieces of work in the order in which they were added. The background worker owns it.
// When `finish` returns, all pieces are done and the thread has ended.

import PlugboardPosix
import Synchronization

/// The work for one thread. Any thread may add to it.
final class WorkQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isEnding = false
        /// The thread found nothing to do, and has to be woken.
        var isIdle = false
    }

    private let state = Mutex(State())
    private let arrived: Wakeup
    private let ended: Wakeup

    /// Starts the thread. If `isAwaited` is false, nobody waits for its work, and it runs at a lower
    /// priority. Throws `SystemError`.
    init(isAwaited: Bool) throws {
        arrived = try Wakeup()
        ended = try Wakeup()
        try Background.start { [self] in
            if !isAwaited { Background.yieldToOthers() }
            work()
        }
    }

    func add(_ piece: @escaping @Sendable () -> Void) {
        wake { $0.waiting.append(piece) }
    }

    /// Changes the state, and wakes the thread unless it looks again without that. Waking takes
    /// microseconds.
    private func wake(_ change: (inout State) -> Void) {
        let wasIdle = state.withLock { state in
            change(&state)
            defer { state.isIdle = false }
            return state.isIdle
        }
        if wasIdle { arrived.signal() }
    }

    /// Returns when all pieces that were added before are done.
    func wait() {
        guard !state.withLock({ $0.isEnding }), let wakeup = try? Wakeup() else { return }
        let isDone = Shared(false)
        add {
            isDone.set(true)
            wakeup.signal()
        }
        while !isDone.get() { PipeCalls.waitReadable(wakeup.raw) }
    }

    /// Returns when all pieces are done and the thread has ended.
    func finish() {
        wake { $0.isEnding = true }
        PipeCalls.waitReadable(ended.raw)
    }

    private func work() {
        while true {
            var (pieces, isEnding) = state.withLock { state in
                defer { state.waiting = [] }
                state.isIdle = state.waiting.isEmpty && !state.isEnding
                return (Array(state.waiting.reversed()), state.isEnding)
            }
            let isIdle = pieces.isEmpty
            // `popLast` releases each piece before the next begins. So the files that it held are closed
            // when `wait` returns.
            while let piece = pieces.popLast() { piece() }
            if isIdle {
                if isEnding { return ended.signal() }
                PipeCalls.waitReadable(arrived.raw)
                arrived.drain()
            }
        }
    }
}
