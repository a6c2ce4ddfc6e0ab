// The first connection, which `connect` waits for.

extension Link {
    /// Starts the thread and waits until the first connection is made, or never will be. A
    /// cancelled wait closes the link.
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
        // Cancelled just when it was made: closed all the same.
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
