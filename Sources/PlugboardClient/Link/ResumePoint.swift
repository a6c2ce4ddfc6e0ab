// Where a subscription resumes on a later connection, and which events it then skips. A
// `KeptSubscription` owns it. Any thread may make the first request; after that only the bus's thread
// uses it.

import PlugboardWire
import Synchronization

/// The place of a subscription.
final class ResumePoint: Sendable {
    private let state = Mutex(ResumePlace())

    var place: ResumePlace { state.withLock { $0 } }

    /// A broker has accepted the subscription.
    func begin(_ reply: Reply, epoch: String, hasSnapshot: Bool) {
        state.withLock {
            let revision = UInt64(reply.revision)
            $0.begin(epoch: epoch, revision: revision, isResumed: reply.isResumed, hasSnapshot: hasSnapshot)
        }
    }

    /// Notes an event. Returns what is new in it; nil if it came before the connection broke.
    func news(of event: Event) -> Event? {
        state.withLock { place in
            let revision = UInt64(event.revision)
            var event = event
            switch event.kind {
            case .synced: place.finish(at: revision)
            case .emit: place.advance(to: revision)
            case .update, .delete, .leave:
                guard place.isNews(key: event.key, revision: revision) else { return nil }
            case .lagged: break
            }
            event.skipped = Int(place.skipped(UInt64(event.skipped), key: event.key))
            return event
        }
    }
}
