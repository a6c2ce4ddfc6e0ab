// What a session as a whole has to catch up with: which of its subscriptions can go on,
// and a reply that must wait for them. Exists while there is such a thing, no longer.

import PlugboardMemory
import PlugboardWire

typealias CatchupReference = UnsafeMutablePointer<Catchup>

/// The waiting side of one session.
struct Catchup: ~Copyable {
    /// Subscriptions that are owed something and wait for nothing but room.
    var ready = List<SubscriptionReference>()
    /// Whose turn it is among them.
    var turn = 0
    /// A reply that comes after everything up to `deferredUntil`.
    var deferred = ByteBuffer()
    var deferredUntil: UInt64 = 0
    /// Subscriptions whose reply is among what is deferred; they begin behind it.
    var unanswered = List<SubscriptionReference>()
    /// Subscriptions that are told again what is in the journal.
    var replaying = List<SubscriptionReference>()
    /// Bytes in the line queues of all its subscriptions.
    var queuedBytes = 0
    /// Keys owed to all its subscriptions.
    var owedCount = 0

    init() {}

    /// A piece of the journal is on its way to one of them, which isn't paused, with what was
    /// written up to a revision.
    func isReading(upTo revision: UInt64 = .max) -> Bool {
        replaying.elements.contains { subscription in
            guard let backlog = subscription.pointee.backlog, !backlog.pointee.isPaused else { return false }
            guard let replay = backlog.pointee.replay else { return false }
            return replay.isReading && replay.frontRevision <= revision
        }
    }

    var isEmpty: Bool {
        ready.isEmpty && deferred.isEmpty && queuedBytes == 0 && owedCount == 0 && unanswered.isEmpty
            && replaying.isEmpty
    }
}
