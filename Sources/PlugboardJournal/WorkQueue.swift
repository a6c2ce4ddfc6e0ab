// One thread that does one piece of work after the other.

import PlugboardPosix
import Synchronization

/// Work for one thread, in its order.
final class WorkQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isEnding = false
    }

    private let state = Mutex(State())
    private let arrived: Wakeup
    private let ended: Wakeup

    /// Starts the thread, which takes no processor from others unless somebody waits for what it
    /// does. Throws `SystemError`.
    init(isAwaited: Bool) throws {
        arrived = try Wakeup()
        ended = try Wakeup()
        try Background.start { [self] in
            if !isAwaited { Background.yieldToOthers() }
            work()
        }
    }

    func add(_ piece: @escaping @Sendable () -> Void) {
        state.withLock { $0.waiting.append(piece) }
        arrived.signal()
    }

    /// Returns when all that was added is done.
    func wait() {
        guard !state.withLock({ $0.isEnding }), let wakeup = try? Wakeup() else { return }
        let isDone = Shared(false)
        add {
            isDone.set(true)
            wakeup.signal()
        }
        while !isDone.get() { PipeCalls.waitReadable(wakeup.raw) }
    }

    /// Returns when all that was added is done, and the thread has ended.
    func finish() {
        state.withLock { $0.isEnding = true }
        arrived.signal()
        PipeCalls.waitReadable(ended.raw)
    }

    private func work() {
        while true {
            var (pieces, isEnding) = state.withLock { state in
                defer { state.waiting = [] }
                return (Array(state.waiting.reversed()), state.isEnding)
            }
            let isIdle = pieces.isEmpty
            // Each lets go of what it refers to before the next one: who waits finds files closed.
            while let piece = pieces.popLast() { piece() }
            if isIdle {
                if isEnding { return ended.signal() }
                PipeCalls.waitReadable(arrived.raw)
                arrived.drain()
            }
        }
    }
}
