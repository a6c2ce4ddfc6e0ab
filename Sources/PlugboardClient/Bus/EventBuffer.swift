// Events that wait between the bus's thread and a `for await` loop, within a limit of bytes. The
// subscription and the link share the buffer; a lock protects it. Either events wait or readers do, never
// both. After too many bytes, the reader gets the events that wait, and then the failure.

import Synchronization

/// A queue of events with a limit. It is made for one reader; several readers share the events.
final class EventBuffer: Sendable {
    typealias Reader = CheckedContinuation<Event?, any Error>

    private let bytesMax: Int
    private let tellBehind: (@Sendable (Bool) -> Void)?
    private let state = Mutex(EventQueue())

    /// Calls `tellBehind`, if there is one, with true when more than half of the bytes wait, and then with
    /// false when at most a quarter does or no more events come. Any thread may call it, outside of the lock.
    init(bytesMax: Int, tellBehind: (@Sendable (Bool) -> Void)? = nil) {
        self.bytesMax = bytesMax
        self.tellBehind = tellBehind
    }

    /// Changes the queue, and tells if its reader is behind because of that, or isn't any more.
    private func change<Result: Sendable>(_ body: (inout EventQueue) -> Result) -> Result {
        let (result, news) = state.withLock { state in
            (body(&state), tellBehind == nil ? nil : state.takeNews(bytesMax: bytesMax))
        }
        if let news { tellBehind?(news) }
        return result
    }

    /// Adds an event. Returns false, once, if too many bytes wait. The reader still gets the events
    /// before it, and then the failure.
    func add(_ event: Event) -> Bool {
        let (reader, group, isAccepted): (Reader?, GroupReader?, Bool) = change { state in
            if state.isEnded { return (nil, nil, true) }
            if let reader = state.readers.popFirst() { return (reader.value, nil, true) }
            return (nil, state.group.take(), state.append(event, bytesMax: bytesMax))
        }
        reader?.resume(returning: event)
        group?.ask { group?.reader.resume(returning: self.takeAll()) }
        return isAccepted
    }

    /// Accepts no further events. Those that wait can still be read.
    func end(_ error: BusError?) {
        let (readers, failure, group) = change { state in
            if !state.isEnded {
                state.isEnded = true
                state.failure = error
            }
            // If a reader waits, no event does.
            let readers = Array(state.readers.values)
            state.readers = [:]
            return (readers, readers.isEmpty ? nil : state.failure.take(), state.group.take())
        }
        group?.reader.resume(returning: [])
        for (index, reader) in readers.enumerated() {
            if index == 0, let failure {
                reader.resume(throwing: failure)
            } else {
                reader.resume(returning: nil)
            }
        }
    }

    /// The next event; nil at the end, or if the reading task is cancelled.
    func next(isolation: isolated (any Actor)?) async throws -> Event? {
        if let event = change({ $0.take() }) { return event }
        let ticket = state.withLock { $0.takeTicket() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation(isolation: isolation) { reader in
                if let outcome = change({ $0.outcome(orWait: reader, ticket) }) {
                    reader.resume(with: outcome)
                } else if Task.isCancelled {
                    // The task was cancelled before there was anything to cancel.
                    giveUp(ticket)
                }
            }
        } onCancel: {
            giveUp(ticket)
        }
    }

    /// If no event waits: waits for one, and returns all that have come when `ask` has called what it is given.
    /// `ask` is called by the thread that brings the event, so that nobody has to wake up for that. Otherwise,
    /// and at the end, it returns nothing: then `next` says what there is.
    func arrivals(
        isolation: isolated (any Actor)?, ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) async -> [Event] {
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { reader in
                let waits = state.withLock { $0.wait(GroupReader(reader: reader, ask: ask)) }
                if !waits { reader.resume(returning: []) } else if Task.isCancelled { giveUpGroup() }
            }
        } onCancel: {
            giveUpGroup()
        }
    }

    private func giveUpGroup() {
        let group = state.withLock { $0.group.take() }
        group?.reader.resume(returning: [])
    }

    /// Whether no event waits.
    var isEmpty: Bool { state.withLock { $0.next == nil } }

    /// The events that wait.
    func takeAll() -> [Event] {
        change { state in
            var events: [Event] = []
            while let event = state.take() { events.append(event) }
            return events
        }
    }

    /// Whether the next event is here already and has this revision.
    func beginsWith(_ revision: Int) -> Bool {
        state.withLock { $0.next?.revision == revision }
    }

    private func giveUp(_ ticket: Int) {
        let reader = state.withLock { $0.readers.removeValue(forKey: ticket) }
        reader?.resume(returning: nil)
    }
}

/// Somebody who waits for a group of events.
private struct GroupReader: Sendable {
    let reader: CheckedContinuation<[Event], Never>
    let ask: @Sendable (@escaping @Sendable () -> Void) -> Void
}

/// The events that wait, or the readers that wait: never both.
private struct EventQueue {
    private var events: [Event?] = []
    /// How many of `events` were read. Their places are nil.
    private var read = 0
    private var bytes = 0
    private var isBehind = false
    private var nextTicket = 0
    var isEnded = false
    /// The failure that a reader has yet to get.
    var failure: BusError?
    var readers: [Int: EventBuffer.Reader] = [:]
    var group: GroupReader?

    /// Whether the reader has fallen behind (true) or has caught up (false) since the last call; nil if
    /// neither.
    mutating func takeNews(bytesMax: Int) -> Bool? {
        let wasBehind = isBehind
        isBehind = !isEnded && bytes > (wasBehind ? bytesMax / 4 : bytesMax / 2)
        return isBehind == wasBehind ? nil : isBehind
    }

    /// Returns whether there is something to wait for.
    mutating func wait(_ reader: GroupReader) -> Bool {
        guard next == nil, !isEnded, group == nil else { return false }
        group = reader
        return true
    }

    mutating func takeTicket() -> Int {
        defer { nextTicket += 1 }
        return nextTicket
    }

    mutating func append(_ event: Event, bytesMax: Int) -> Bool {
        guard bytes == 0 || bytes + event.bytesHeld <= bytesMax else {
            isEnded = true
            failure = .unreadFull(limit: bytesMax)
            return false
        }
        events.append(event)
        bytes += event.bytesHeld
        return true
    }

    var next: Event? { read < events.count ? events[read] : nil }

    mutating func take() -> Event? {
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

    /// What a reader gets now; nil if it has to wait.
    mutating func outcome(orWait reader: EventBuffer.Reader, _ ticket: Int) -> Result<Event?, any Error>? {
        if let event = take() { return .success(event) }
        if isEnded { return failure.take().map { .failure($0) } ?? .success(nil) }
        readers[ticket] = reader
        return nil
    }
}
