// The first connection, for which `connect` waits. `LinkState.opening` has the waiter. It is resumed
// once: when the connection is set up, when it has failed, or when the link closes.

extension Link {
    /// Starts the thread and waits until the first connection is made or has failed. If the wait is
    /// cancelled, the link closes.
    func open() async throws {
        do {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation {
                    (continuation: CheckedContinuation<Void, any Error>) in
                    begin { continuation.resume(with: $0) }
                    if Task.isCancelled { close(nil) }
                }
            } onCancel: {
                close(nil)
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
        // If the task was cancelled just when the connection was made, the link closes, too.
        try Task.checkCancellation()
    }

    private func begin(_ opening: @escaping LinkState.Waiter) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.opening = opening }
            return state.isClosed
        }
        if isClosed { return opening(.failure(CancellationError())) }
        do {
            try LinkThread.start(self)
        } catch {
            close(.noBroker(path: socketPath, reason: "\(error)"))
        }
    }
}
