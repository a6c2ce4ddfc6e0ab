// The end of a program on the bus: asked for by a signal or by itself, then the last
// writes, then the end of the connection.

import PlugboardPosix
import PlugboardWire
import Synchronization

extension Bus {
    /// Ends all subscriptions and observers, present and later ones. `for await` loops end after
    /// the waiting events. Requests still work, for the last writes. Without a connection they now
    /// fail at once. Wakes `waitUntilStopped`.
    public func stop() {
        link.stop()
    }

    /// Calls `stop()` when SIGTERM or SIGINT comes, but only after the bus has handed over
    /// everything that the broker had sent by then. So a loop misses nothing that happened before
    /// the signal. A second signal ends the program at once, as signals do. The handlers stay for
    /// the life of the process.
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

    /// Stops, waits until the broker has carried out all writes, says goodbye, so that the broker
    /// doesn't write the will (``setWill(_:timeout:)``), and closes. Returns whether the broker has
    /// carried out the writes. Without a connection it doesn't wait.
    @discardableResult
    public func finish(within limit: Duration = .seconds(1)) async -> Bool {
        await finish(within: limit, saysGoodbye: true)
    }

    func finish(within limit: Duration = .seconds(1), saysGoodbye: Bool) async -> Bool {
        let held = state.isConnected ? await sent(within: limit) : nil
        stop()
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
                // The result says so; there is nothing else to do.
            }
        }
        close()
        return isFlushed
    }

    /// Why held changes are not sent, before the wait for them ends.
    private func sent(within limit: Duration) async -> (any Error)? {
        do {
            try await sendHeld(timeout: limit)
            return nil
        } catch {
            return error
        }
    }

    /// The last barrier: its answer comes after the answers to all earlier requests.
    private func goodbye(timeout: Duration) async throws {
        let wasLost = link.state.withLock { $0.pipelined.takeLost() }
        let link = link
        _ = try await link.request(ObjectText(op: "goodbye"), timeout: timeout) { result in
            // The bus closes before the broker does, so the end of the connection isn't reported.
            if case .success = result { link.close(nil) }
        }
        if wasLost { throw BusError.disconnected(reason: "writes since the last sync may be lost") }
    }

    /// The last line of a plugin. Runs until SIGTERM or SIGINT comes or the bus ends, then sends
    /// the remaining writes and closes. The program then ends with status 0 by itself.
    ///
    /// - Throws: why the bus ended, where neither a signal nor this program ended it.
    public func runUntilStopped() async throws {
        stopAtSignals()
        await waitUntilStopped()
        if case .closed(let error?) = state { throw error }
        await finish()
    }
}

extension Link {
    /// How long a broker that sends nothing delays a stop, in nanoseconds.
    private static let stopTimeout: UInt64 = 700_000_000

    /// Stops behind a barrier: its reply comes after all events that were caused before it. While
    /// the broker still sends, the wait goes on: a slow program misses no more than a fast one.
    func stopInStep() {
        guard connectionState.value.isConnected else { return stop() }
        let id = state.withLock { $0.takeID() }
        let readsBefore = reads.load(ordering: .relaxed)
        let failure = start(ObjectText(op: "sync"), timeout: Self.stopTimeout, id: id) { [weak self] in
            guard let self else { return }
            if case .failure(BusError.timedOut) = $0, reads.load(ordering: .relaxed) != readsBefore {
                stopInStep()
            } else {
                stop()
            }
        }
        if failure != nil { stop() }
    }
}
