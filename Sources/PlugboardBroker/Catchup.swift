// What a session as a whole has to catch up with: which of its subscriptions can go on,
// and a reply that must wait for them. Exists while there is such a thing, no longer.

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
    /// Bytes in the line queues of all its subscriptions.
    var queuedBytes = 0
    /// Keys owed to all its subscriptions.
    var owedCount = 0

    init() {}

    var isEmpty: Bool {
        ready.isEmpty && deferred.isEmpty && queuedBytes == 0 && owedCount == 0 && unanswered.isEmpty
    }
}
