// Between the bus's thread and one `for await` loop: events wait here, within a limit.

import Synchronization

/// A bounded queue of events with one reader.
final class EventBuffer: Sendable {
    fileprivate struct State {
        var events: [Event?] = []
        /// How many of them were read already; their places are nil.
        var read = 0
        var bytes = 0
        var isEnded = false
        var failure: BusError?
        var reader: CheckedContinuation<Event?, any Error>?
    }

    private let bytesMax: Int
    private let state = Mutex(State())

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    /// Adds an event. False, once, when there are too many: what was added before can
    /// still be read, then the reader is told.
    func add(_ event: Event) -> Bool {
        let (reader, isAccepted) = state.withLock { state in
            if state.isEnded { return (nil as CheckedContinuation<Event?, any Error>?, true) }
            if let reader = state.reader.take() { return (reader, true) }
            guard state.bytes == 0 || state.bytes + event.bytesHeld <= bytesMax else {
                state.isEnded = true
                state.failure = .unreadFull(limit: bytesMax)
                return (nil, false)
            }
            state.events.append(event)
            state.bytes += event.bytesHeld
            return (nil, true)
        }
        reader?.resume(returning: event)
        return isAccepted
    }

    /// No event comes any more; those that wait can still be read.
    func end(_ error: BusError?) {
        let reader = state.withLock { state in
            if !state.isEnded {
                state.isEnded = true
                state.failure = error
            }
            return state.takeReaderIfEnded()
        }
        if let reader { finish(reader) }
    }

    /// The next event; nil at the end, and when the reading task is cancelled.
    func next(isolation: isolated (any Actor)?) async throws -> Event? {
        if let event = state.withLock({ $0.take() }) { return event }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation(isolation: isolation) { reader in
                let event = state.withLock { state -> Event? in
                    let event = state.take()
                    if event == nil { state.reader = reader }
                    return event
                }
                if let event { return reader.resume(returning: event) }
                endNowIfNeeded()
            }
        } onCancel: {
            endOfTask()
        }
    }

    /// The reader that just began to wait may be too late.
    private func endNowIfNeeded() {
        let isCancelled = Task.isCancelled
        let reader = state.withLock { state in
            isCancelled ? state.reader.take() : state.takeReaderIfEnded()
        }
        guard let reader else { return }
        if isCancelled { reader.resume(returning: nil) } else { finish(reader) }
    }

    private func endOfTask() {
        let reader = state.withLock { $0.reader.take() }
        reader?.resume(returning: nil)
    }

    /// Ends the loop: with the failure the first time, then quietly.
    private func finish(_ reader: CheckedContinuation<Event?, any Error>) {
        if let failure = state.withLock({ $0.failure.take() }) {
            reader.resume(throwing: failure)
        } else {
            reader.resume(returning: nil)
        }
    }
}

extension EventBuffer.State {
    fileprivate mutating func take() -> Event? {
        guard read < events.count, let event = events[read].take() else { return nil }
        read += 1
        bytes -= event.bytesHeld
        if read == events.count {
            events.removeAll(keepingCapacity: events.count <= 1_024)
            read = 0
        } else if read >= 1_024, read * 2 >= events.count {
            events.removeFirst(read)
            read = 0
        }
        return event
    }

    fileprivate mutating func takeReaderIfEnded() -> CheckedContinuation<Event?, any Error>? {
        isEnded && events.isEmpty ? reader.take() : nil
    }
}
