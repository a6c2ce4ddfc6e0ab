// The end of a program on the bus. A signal or the program itself asks for it. Then come the last writes,
// and then the connection ends.

import PlugboardPosix
import PlugboardWire
import Synchronization

extension Bus {
    /// Ends all subscriptions and observers, present and later ones. `for await` loops end after the
    /// waiting events. Requests still work, so that the program can make its last writes. Without a
    /// connection they now fail at once. `waitUntilStopped` returns.
    public func stop() {
        link.stop()
    }

    /// Calls `stop()` after SIGTERM or SIGINT, but only when the bus has passed on everything that the
    /// broker had sent by then. So a loop misses nothing that happened before the signal. A second signal
    /// ends the program at once, as signals do. The signal handlers stay as long as the process runs.
    public func stopAtSignals() {
        StopSignals.shared.add { [weak link] in link?.stopInStep() }
    }

    /// Waits until `stop()` or `close()` was called, the bus has closed by itself, or the
    /// task is cancelled.
    public func waitUntilStopped() async {
        let link = link
        let id = link.state.withLock { $0.takeID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = link.state.withLock { state in
                    if state.isStopped || Task.isCancelled { return true }
                    state.stopWaiters[id] = { continuation.resume() }
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = link.state.withLock { $0.stopWaiters.removeValue(forKey: id) }
            waiter?()
        }
    }

    /// Stops, waits until the handlers of `serve`, also concurrent ones, and `subscribe(inOrder:)` have handled what
    /// had come and the broker has handled all writes, says goodbye, and closes. After a goodbye the broker doesn't
    /// write the will (``setWill(_:timeout:)``). Returns whether the broker has handled the writes. Without a connection
    /// it doesn't wait.
    @discardableResult
    public func finish(within limit: Duration = .seconds(1)) async -> Bool {
        await finish(within: limit, saysGoodbye: true)
    }

    @discardableResult
    func finish(within limit: Duration = .seconds(1), saysGoodbye: Bool) async -> Bool {
        let held = state.isConnected ? await sent(within: limit) : nil
        stop()
        await link.finishCalls(within: limit)
        var isFlushed = false
        if state.isConnected {
            do {
                if let held { throw held }
                if saysGoodbye, greeting?.features.contains("will") == true {
                    try await goodbye(timeout: limit)
                } else {
                    try await sync(timeout: limit)
                }
                isFlushed = true
            } catch {
                // The result says so. There is nothing else to do.
            }
        }
        close()
        return isFlushed
    }

    /// Waits until held changes are sent. Returns why they are not, or nil.
    private func sent(within limit: Duration) async -> (any Error)? {
        do {
            try await sendHeld(timeout: limit)
            return nil
        } catch {
            return error
        }
    }

    /// Sends the last request. Its answer comes after the answers to all earlier requests.
    private func goodbye(timeout: Duration) async throws {
        let wasLost = link.state.withLock { $0.pipelined.takeLost() }
        let link = link
        _ = try await link.request(ObjectWriter(op: "goodbye"), timeout: timeout) { result in
            // The bus closes before the broker does. So the end of the connection isn't reported as a
            // failure.
            if case .success = result { link.close(nil) }
        }
        if wasLost { throw BusError.disconnected(reason: "writes since the last sync may be lost") }
    }

    /// The last line of a plugin. Waits until SIGTERM or SIGINT comes or the bus ends, then sends the
    /// remaining writes and closes. If nothing else is left to do, the program then ends with status 0.
    ///
    /// - Throws: why the bus ended, unless a signal or this program ended it.
    public func runUntilStopped() async throws {
        stopAtSignals()
        await waitUntilStopped()
        if case .closed(let error?) = state { throw error }
        // An update stops a program by a signal, too.
        await finish(saysGoodbye: link.options.grace == .zero)
    }
}

extension Link {
    /// Gives the handlers time for what has come, also for calls that the broker sent before it knew that none is
    /// wanted any more.
    func finishCalls(within limit: Duration) async {
        let (isJoined, isServing) = state.withLock { ($0.isJoined, !$0.servers.isEmpty) }
        guard isJoined else { return }
        // If it fails, there is nothing to wait for, or no time.
        if isServing { _ = try? await request(ObjectWriter(op: "sync"), timeout: limit) }
        await queue.settle(within: limit)
    }

    /// How long to wait for a broker that sends nothing before a stop, in nanoseconds.
    private static let stopTimeout: UInt64 = 700_000_000

    /// Stops when the broker has answered a barrier. The answer comes after all events that were caused
    /// before. As long as the broker sends something, or isn't read because a loop is behind, the wait
    /// goes on, so a slow program doesn't miss more than a fast one.
    func stopInStep() {
        guard connectionState.value.isConnected else { return stop() }
        let id = state.withLock { $0.takeStopID() }
        let readsBefore = reads.load(ordering: .relaxed)
        let failure = start(ObjectWriter(op: "sync"), timeout: Self.stopTimeout, id: id) { [weak self] in
            guard let self else { return }
            let goesOn = isHeldBack || reads.load(ordering: .relaxed) != readsBefore
            if goesOn, case .failure(BusError.timedOut) = $0 {
                stopInStep()
            } else {
                stop()
            }
        }
        if failure != nil { stop() }
    }
}
