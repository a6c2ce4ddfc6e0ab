// Events in groups, for programs that should react to the present state rather than to each event on the way
// to it.

import PlugboardWire
import Synchronization

extension Subscription {
    /// Waits for an event, and calls `body` with it and all that have come by then, until the subscription
    /// ends. Events of one revision are never in two groups, and a group ends no earlier than the bus did
    /// when the program was ready for it. So writes of `body` fit everything that had been written by then.
    ///
    /// ```swift
    /// try await bus.subscribe(["screen", "reviews.*"]).forEachGroup { events in
    ///     for event in events { news.note(event) }
    ///     try await bus.publish("banner", news.text)
    /// }
    /// ```
    /// Writes in `body` name the group's last event as their ``Cause``. With `acknowledges`, groups are
    /// handled when `body` has returned and nothing more waits. So if the program observes what it writes
    /// itself, observers of later phases get the event and the answer together.
    /// - Throws: what a `for await` loop throws, and what `body` throws, which ends the subscription's loop.
    public func forEachGroup(
        isolation: isolated (any Actor)? = #isolation, _ body: ([Event]) async throws -> Void
    ) async throws {
        var handled: Int?
        var groups = 0
        while true {
            let events = try await nextGroup(isolation: isolation)
            guard let cause = events.last(where: { $0.asCause != nil }) ?? events.first else { return }
            try await cause.causing { try await body(events) }
            handled = events.last(where: \.needsAcknowledgement)?.revision ?? handled
            groups += 1
            guard buffer.isEmpty || groups == ClientLimits.unacknowledgedGroupsMax else { continue }
            if acknowledges, let handled { bus.link.acknowledge(sub, handled) }
            (handled, groups) = (nil, 0)
        }
    }

    /// The events of the next group; none at the end.
    private func nextGroup(isolation: isolated (any Actor)?) async throws -> [Event] {
        let arrived = await buffer.arrivals(isolation: isolation) { [link = bus.link] done in
            let id = link.state.withLock { $0.takeID() }
            let timeout = link.options.requestTimeout.nanoseconds
            // Without a connection nothing more comes. What has come is handled all the same.
            let failure = link.start(ObjectWriter(op: "sync"), timeout: timeout, id: id) { _ in done() }
            if failure != nil { done() }
        }
        guard arrived.isEmpty else { return arrived }
        guard let first = try await buffer.next(isolation: isolation) else { return [] }
        return [first] + (await restOfGroup(isolation: isolation))
    }

    /// The other events that have come before the answer to `sync`. It comes after all events up to its
    /// revision, those of a revision that has come in part included. They are taken by the thread that reads
    /// the answer: what is told behind it may be half of what an observer has to know together.
    private func restOfGroup(isolation: isolated (any Actor)?) async -> [Event] {
        let rest = Mutex<[Event]?>(nil)
        do {
            _ = try await bus.link.request(ObjectWriter(op: "sync"), timeout: nil) { [buffer] reply in
                if case .success = reply { rest.withLock { $0 = buffer.takeAll() } }
            }
        } catch {
            // Without a connection nothing more comes. What has come is handled all the same.
        }
        return rest.withLock { $0 } ?? buffer.takeAll()
    }
}
