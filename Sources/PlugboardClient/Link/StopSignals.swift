// SIGTERM and SIGINT for all buses of this program, and SIGHUP if somebody asks for it. Signals belong to the
// process, so there is only one object, with a thread that only waits for them. The thread starts when the first
// handler is added.

import PlugboardPosix
import PlugboardWire
import Synchronization

/// Calls handlers when the program should stop. Any thread may use it.
final class StopSignals: Sendable {
    static let shared = StopSignals()

    private struct State {
        var handlers: [(id: Int, call: @Sendable () -> Void)] = []
        /// Called for each SIGHUP. Without one, that ends the process.
        var hangUpHandlers: [@Sendable () -> Void] = []
        var signals: Signals?
        var nextID = 1
        var isWaiting = false
        var hasCome = false
    }

    private let state = Mutex(State())

    private init() {}

    /// Whether a signal has come.
    var hasCome: Bool { state.withLock { $0.hasCome } }

    /// Calls `handler` when a signal comes, or at once if one has come. Returns the number with which to
    /// remove the handler.
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

    /// Calls `handler` for each SIGHUP from now on, unless this process ignores that signal.
    func addForHangUp(_ handler: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.hangUpHandlers.append(handler)
            defer { state.isWaiting = true }
            return !state.isWaiting
        }
        if isFirst { startWaiting() }
        state.withLock { $0.signals }?.also(catch: SIGHUP)
    }

    /// Removes a handler. If a signal has just come, the handler may still be called.
    func remove(_ id: Int) {
        state.withLock { state in state.handlers.removeAll { $0.id == id } }
    }

    private func startWaiting() {
        do {
            let signals = try Signals(catching: [SIGTERM, SIGINT])
            state.withLock { $0.signals = signals }
            try Background.start { self.wait(for: signals) }
        } catch {
            StandardStream.complain("plugboard: signals can't be caught: \(error)")
        }
    }

    private func wait(for signals: Signals) {
        waitForStop(signals)
        let handlers = state.withLock { state in
            state.hasCome = true
            defer { state.handlers = [] }
            return state.handlers
        }
        for handler in handlers { handler.call() }
        let second = waitForStop(signals)
        signal(second, SIG_DFL)
        kill(getpid(), second)
    }
}

extension StopSignals {
    /// Waits for a signal to stop, and handles others meanwhile.
    @discardableResult
    private func waitForStop(_ signals: Signals) -> Int32 {
        while true {
            let number = signals.wait()
            guard number == SIGHUP else { return number }
            for handler in state.withLock({ $0.hangUpHandlers }) { handler() }
        }
    }
}

extension StandardStream {
    /// Prints a line for a person. If standard error is closed, nothing happens.
    static func complain(_ line: String) {
        _ = StandardStream.error.write(Array("\(Printable.text(line))\n".utf8))
    }
}
