// SIGTERM and SIGINT for this program's buses. Signals belong to the process, so there
// is one of these, with a thread that waits for nothing else; it starts when first asked for.

import PlugboardPosix
import PlugboardWire
import Synchronization

/// Calls the handlers when the program should stop.
final class StopSignals: Sendable {
    static let shared = StopSignals()

    private struct State {
        var handlers: [(id: Int, call: @Sendable () -> Void)] = []
        var nextID = 1
        var isWaiting = false
        var hasCome = false
    }

    private let state = Mutex(State())

    private init() {}

    /// Whether a signal has come.
    var hasCome: Bool { state.withLock { $0.hasCome } }

    /// Calls `handler` once a signal has come, at once where it has already. Returns the
    /// number to remove it by.
    @discardableResult
    func add(_ handler: @escaping @Sendable () -> Void) -> Int {
        let (id, hasCome, isFirst) = state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            if !state.hasCome { state.handlers.append((id, handler)) }
            defer { state.isWaiting = true }
            return (id, state.hasCome, !state.isWaiting)
        }
        if hasCome { handler() } else if isFirst { startWaiting() }
        return id
    }

    /// Forgets a handler; one that a signal has just come for may still be called.
    func remove(_ id: Int) {
        state.withLock { state in state.handlers.removeAll { $0.id == id } }
    }

    private func startWaiting() {
        do {
            let signals = try Signals(catching: [SIGTERM, SIGINT])
            try Background.start { self.wait(for: signals) }
        } catch {
            StandardStream.complain("plugboard: signals can't be caught: \(error)")
        }
    }

    private func wait(for signals: Signals) {
        _ = signals.wait()
        let handlers = state.withLock { state in
            state.hasCome = true
            defer { state.handlers = [] }
            return state.handlers
        }
        for handler in handlers { handler.call() }
        let second = signals.wait()
        signal(second, SIG_DFL)
        kill(getpid(), second)
    }
}

extension StandardStream {
    /// A line for a person. If standard error is closed, nobody can read it.
    static func complain(_ line: String) {
        _ = StandardStream.error.write(Array("\(Printable.text(line))\n".utf8))
    }
}
