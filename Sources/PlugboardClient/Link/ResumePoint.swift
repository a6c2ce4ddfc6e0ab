// Where a subscription resumes on a later connection, which events it then skips, and the place that each
// event tells. A `KeptSubscription` owns it. Any thread may make the first request; after that only the
// bus's thread uses it.

import PlugboardWire
import Synchronization

/// The place of a subscription.
final class ResumePoint: Sendable {
    private let state: Mutex<SubscriptionState>

    /// Begins where the program says, if it does.
    init(since place: Place?) {
        state = Mutex(SubscriptionState(since: place))
    }

    var place: ResumePlace { state.withLock { $0.place } }

    /// The revision from which on the broker is to count emits.
    var emitsRevision: Int { state.withLock { $0.emits.place?.revision ?? 0 } }

    /// A broker has accepted the subscription.
    func begin(_ reply: Reply, epoch: String, hasSnapshot: Bool) {
        state.withLock { $0.begin(reply, epoch: epoch, hasSnapshot: hasSnapshot) }
    }

    /// Notes an event. Returns what is new in it; nil if it came before the connection broke.
    func news(of event: Event) -> Event? {
        state.withLock { state in
            guard state.note(event) else { return nil }
            var event = event
            event.skipped = Int(state.place.skipped(UInt64(event.skipped), key: event.key))
            event.isMissed = state.isMissed(event)
            event.missedEmits = state.emits.takeMissed()
            event.place = state.told
            event.place.emits = state.emits.place
            return event
        }
    }
}

/// What is known of a subscription.
private struct SubscriptionState {
    var place = ResumePlace()
    var emits = EmitTally()
    /// The newest revision of a key's event, and the keys that came with it: one, or all of a batch.
    private var newest = 0
    private var firstKey: String?
    private var batch: RevisionKeys?
    private var count = 0
    private var isInSnapshot = false
    /// Up to which revision events are missed ones; nil if none is. It is out of reach until `synced`.
    private var missedUpTo: Int?

    init(since given: Place?) {
        guard let given, given != .beginning else { return }
        let revision = min(max(given.revision, 0), Int(Limits.integerMax))
        place.begin(epoch: given.epoch, revision: UInt64(revision), isResumed: false, hasSnapshot: false)
        emits.place = given.emits
        for key in given.keys where place.isNews(key: key, revision: UInt64(revision) + 1) {
            noteKey(key, revision + 1)
        }
    }

    mutating func begin(_ reply: Reply, epoch: String, hasSnapshot: Bool) {
        let (revision, isResumed) = (UInt64(clamping: reply.revision), reply.isResumed)
        emits.begin(reply, isKnown: place.revision != nil)
        place.begin(epoch: epoch, revision: revision, isResumed: isResumed, hasSnapshot: hasSnapshot)
        isInSnapshot = hasSnapshot && !isResumed
        if !isResumed { (newest, firstKey, batch, count) = (0, nil, nil, 0) }
        missedUpTo = isResumed ? (hasSnapshot ? .max : reply.revision) : nil
    }

    /// Returns false if the event came already.
    mutating func note(_ event: Event) -> Bool {
        let revision = UInt64(event.revision)
        emits.note(event)
        switch event.kind {
        case .synced:
            place.finish(at: revision)
            isInSnapshot = false
        case .emit: place.advance(to: revision)
        case .update, .delete, .leave:
            guard place.isNews(key: event.key, revision: revision) else { return false }
            noteKey(event.key, event.revision)
        case .lagged: break
        }
        return true
    }

    private mutating func noteKey(_ key: String, _ revision: Int) {
        guard revision == newest, let firstKey else {
            (newest, firstKey, batch, count) = (revision, key, nil, 1)
            return
        }
        let keys = batch ?? RevisionKeys([firstKey])
        keys.add(key)
        batch = keys
        count += 1
    }

    mutating func isMissed(_ event: Event) -> Bool {
        guard let missedUpTo else { return false }
        switch event.kind {
        case .synced: self.missedUpTo = nil
        case .emit, .lagged: return false
        case .update, .delete, .leave: break
        }
        return event.revision <= missedUpTo
    }

    /// The place behind the last event. Before the end of a snapshot, it is still that before the snapshot.
    var told: Place {
        guard let known = place.revision else { return .beginning }
        let revision = Int(known)
        guard !isInSnapshot, newest - 1 == revision else {
            return Place(epoch: place.epoch, revision: revision, key: nil)
        }
        guard let batch else { return Place(epoch: place.epoch, revision: revision, key: firstKey) }
        return Place(epoch: place.epoch, revision: revision, next: batch, count: count)
    }
}
