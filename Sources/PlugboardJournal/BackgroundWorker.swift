// The worker of a broker. The journal's writer owns it. Each kind of work has a thread of its own, so a snapshot
// never delays a sync. The threads end with the worker, when all work is done.

import PlugboardPosix
import Synchronization

/// Does the journal's slow work on other threads and wakes the loop after each piece.
public final class BackgroundWorker: JournalWorker, Sendable {
    private let store: any FileStore
    private let wakeup: Wakeup
    /// By kind.
    let queues: [WorkQueue]
    private let done = Mutex<[WorkDone]>([])

    /// Signals `wakeup` after each piece of work that the loop must hear of. Throws `SystemError`.
    public init(_ store: any FileStore, wakeup: Wakeup) throws {
        self.store = store
        self.wakeup = wakeup
        queues = try JournalWork.Kind.allCases.map {
            try WorkQueue(isAwaited: $0 == .syncs || $0 == .readings)
        }
    }

    /// It may be a thread of its own that gives it up, so nobody waits.
    deinit {
        for queue in queues { queue.end() }
    }

    public func add(_ work: JournalWork) {
        queues[work.kind.rawValue].add { [self] in
            guard let result = work.run(store) else { return }
            done.withLock { $0.append(result) }
            wakeup.signal()
        }
    }

    public func wait(for kind: JournalWork.Kind) { queues[kind.rawValue].wait() }

    public func takeDone() -> [WorkDone] {
        done.withLock { done in
            defer { done = [] }
            return done
        }
    }
}

/// The work for one thread. Any thread may add to it.
final class WorkQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isEnding = false
    }

    private let state = Mutex(State())
    private let arrived: Wakeup

    /// Starts the thread. If `isAwaited` is false, nobody waits for its work, and it runs at a lower
    /// priority. Throws `SystemError`.
    init(isAwaited: Bool) throws {
        arrived = try Wakeup()
        try Background.start { [self] in
            if !isAwaited { Background.yieldToOthers() }
            work()
        }
    }

    func add(_ piece: @escaping @Sendable () -> Void) {
        state.withLock { $0.waiting.append(piece) }
        arrived.signal()
    }

    /// Returns when all pieces that were added before are done.
    func wait() {
        guard let wakeup = try? Wakeup() else { return }
        add { wakeup.signal() }
        while PipeCalls.wait(for: .read, of: wakeup.raw, milliseconds: -1) <= 0 {}
    }

    /// Ends the thread when all pieces are done. None may be added afterwards.
    func end() {
        state.withLock { $0.isEnding = true }
        arrived.signal()
    }

    private func work() {
        while true {
            PipeCalls.waitReadable(arrived.raw)
            arrived.drain()
            var (pieces, isEnding) = state.withLock { state in
                defer { state.waiting = [] }
                return (Array(state.waiting.reversed()), state.isEnding)
            }
            // `popLast` releases each piece before the next begins. So the files that it held are closed
            // when `wait` returns.
            while let piece = pieces.popLast() { piece() }
            if isEnding { return }
        }
    }
}
