// What a whole session has to catch up with: which of its subscriptions are ready, and a reply that waits for
// them. Exists only while there is something.

import PlugboardMemory
import PlugboardWire

/// What waits for one session.
final class Catchup {
    /// Subscriptions that are owed something and wait only for room.
    var ready = List<SubscriptionHandle>()
    /// Whose turn it is in `ready`.
    var turn = 0
    /// Replies that are sent after everything up to `deferredUntil`.
    var deferred = ByteBuffer()
    var deferredUntil: UInt64 = 0
    /// Subscriptions whose `subscribe` is answered in `deferred`. They begin after that.
    var unanswered = List<SubscriptionHandle>()
    /// Subscriptions that are sent older events from the journal.
    var replaying = List<SubscriptionHandle>()
    /// The bytes of the lines that all its subscriptions keep.
    var queuedBytes = 0
    /// How many keys are owed to all its subscriptions.
    var owedCount = 0
    /// The `id` of its goodbye, which is answered after everything that was asked before; empty if it has none. Nil
    /// if it hasn't said goodbye, or was answered.
    var goodbye: [UInt8]?

    init() {}

    /// Whether a subscription that isn't paused waits for a piece of the journal with events up to a
    /// revision.
    func isReading(upTo revision: UInt64 = .max, _ matching: borrowing Matching) -> Bool {
        for place in replaying.indices {
            guard let backlog = matching[replaying[place]].backlog, !backlog.isPaused else { continue }
            if let replay = backlog.replay, replay.isReading, replay.frontRevision <= revision { return true }
        }
        return false
    }

    /// Whether nothing can be sent before more of the journal is read.
    func awaitsJournal(_ matching: borrowing Matching) -> Bool { ready.isEmpty && isReading(matching) }

    /// A subscription ends, so what it is owed counts no more.
    func forget(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        queuedBytes -= backlog.lines.byteCount
        if backlog.isReady { ready.remove(subscription) }
        if backlog.awaitsReply { unanswered.remove(subscription) }
    }

    var isEmpty: Bool {
        ready.isEmpty && deferred.isEmpty && queuedBytes == 0 && owedCount == 0 && unanswered.isEmpty
            && replaying.isEmpty && goodbye == nil
    }
}

extension Catchup {
    private static var always: Invariants { Invariants(of: "Catchup") }

    /// Its counts and lists agree with the subscriptions of its session.
    func checkInvariants(of session: SessionHandle, _ hub: borrowing Hub) throws(BrokenInvariant) {
        let client = "client \(hub.sessions[session].client)"
        let waiting = Waiting(session, hub)
        try Self.always.agree("it counts the keys that are owed", owedCount, waiting.owedCount, of: client)
        try Self.always.agree(
            "it counts the bytes that are queued",
            queuedBytes,
            waiting.queuedBytes,
            of: client
        )
        let areReplaying =
            Set(replaying.all) == waiting.replaying && replaying.count == waiting.replaying.count
        try Self.always.hold("it lists what is told again, each once", areReplaying, of: client)
        guard hub.sessions[session].isOpen else { return }
        let areListed = Set(ready.all) == waiting.ready && ready.count == waiting.ready.count
        try Self.always.hold("it lists what is ready, each once", areListed, of: client)
        let areUnanswered =
            Set(unanswered.all) == waiting.unanswered && unanswered.count == waiting.unanswered.count
        try Self.always.hold("it lists what is unanswered, each once", areUnanswered, of: client)
    }

    /// What the subscriptions of a session wait for, counted anew.
    struct Waiting {
        private(set) var owedCount = 0
        private(set) var queuedBytes = 0
        private(set) var ready: Set<SubscriptionHandle> = []
        private(set) var unanswered: Set<SubscriptionHandle> = []
        private(set) var replaying: Set<SubscriptionHandle> = []

        init(_ session: SessionHandle, _ hub: borrowing Hub) {
            // A client that leaves is sent nothing more. Its lists are cleared at once, its subscriptions end one
            // by one.
            let isOpen = hub.sessions[session].isOpen
            for subscription in hub.sessions[session].subscriptions.list.all {
                guard let backlog = hub.matching[subscription].backlog else { continue }
                owedCount += backlog.keys.count
                queuedBytes += backlog.lineBytes
                if isOpen, backlog.isReady { ready.insert(subscription) }
                if isOpen, backlog.awaitsReply { unanswered.insert(subscription) }
                if backlog.replay != nil { replaying.insert(subscription) }
            }
        }

        /// Nothing waits.
        var isNothing: Bool {
            owedCount == 0 && queuedBytes == 0 && ready.isEmpty && unanswered.isEmpty && replaying.isEmpty
        }
    }
}
