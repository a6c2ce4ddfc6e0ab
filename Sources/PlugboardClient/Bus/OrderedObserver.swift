// The handler of a subscription whose events wait for their turn in the link's queue. The subscription owns
// it. The bus's thread adds events, and the queue's task handles them. After `dispose`, no handler starts.

import Synchronization

/// Passes events to a handler, one at a time among all handlers of the bus.
final class OrderedObserver: Sendable {
    private weak let link: Link?
    private let sub: Int
    private let options: SubscribeOptions
    private let onEnd: @Sendable (BusError?) async -> Void
    private let handler: @Sendable (Event) async -> Void
    private let isDisposed = Atomic(false)

    init(
        _ link: Link,
        _ sub: Int,
        _ options: SubscribeOptions,
        onEnd: @escaping @Sendable (BusError?) async -> Void,
        _ handler: @escaping @Sendable (Event) async -> Void
    ) {
        self.link = link
        self.sub = sub
        self.options = options
        self.onEnd = onEnd
        self.handler = handler
    }

    private var owner: HandlerQueue.Owner { .events(sub: sub) }

    /// Adds an event. If too much waits, the subscription ends after the events that wait.
    func take(_ event: Event) {
        let job = HandlerQueue.Job(owner: owner, bytes: event.bytesHeld, revision: event.revision) {
            await self.handle(event)
        }
        guard let link, !link.queue.add(job, bytesMax: options.unreadBytesMax) else { return }
        link.unsubscribe(sub)
        end(.unreadFull(limit: options.unreadBytesMax))
    }

    /// The subscription has ended. The program is told after the events that wait.
    func end(_ error: BusError?) {
        let job = HandlerQueue.Job(owner: owner, bytes: 0) {
            if !self.isDisposed.load(ordering: .acquiring) { await self.onEnd(error) }
        }
        // Without bytes it always fits.
        _ = link?.queue.add(job, bytesMax: .max)
    }

    func dispose() { isDisposed.store(true, ordering: .releasing) }

    private func handle(_ event: Event) async {
        guard !isDisposed.load(ordering: .acquiring) else { return }
        await event.causing { await handler(event) }
        guard options.acknowledges, event.needsAcknowledgement, let link,
            !link.queue.beginsWith(event.revision, of: owner)
        else { return }
        link.acknowledge(sub, event.revision)
    }
}
