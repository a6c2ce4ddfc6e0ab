// What a session as a whole has to catch up with: which of its subscriptions can go on,
// and a reply that must wait for them. Exists while there is such a thing, no longer.

import PlugboardMemory
import PlugboardWire

/// The waiting side of one session.
final class Catchup {
    /// Subscriptions that are owed something and wait for nothing but room.
    var ready = List<SubscriptionHandle>()
    /// Whose turn it is among them.
    var turn = 0
    /// A reply that comes after everything up to `deferredUntil`.
    var deferred = ByteBuffer()
    var deferredUntil: UInt64 = 0
    /// Subscriptions whose reply is among what is deferred; they begin behind it.
    var unanswered = List<SubscriptionHandle>()
    /// Subscriptions that are told again what is in the journal.
    var replaying = List<SubscriptionHandle>()
    /// Bytes in the line queues of all its subscriptions.
    var queuedBytes = 0
    /// Keys owed to all its subscriptions.
    var owedCount = 0

    init() {}

    /// A piece of the journal is on its way to one of them, which isn't paused, with what was
    /// written up to a revision.
    func isReading(upTo revision: UInt64 = .max, _ matching: borrowing Matching) -> Bool {
        for place in replaying.indices {
            guard let backlog = matching[replaying[place]].backlog, !backlog.isPaused else { continue }
            if let replay = backlog.replay, replay.isReading, replay.frontRevision <= revision { return true }
        }
        return false
    }

    /// There is nothing to be told before more of the journal is read.
    func awaitsJournal(_ matching: borrowing Matching) -> Bool { ready.isEmpty && isReading(matching) }

    /// A subscription ends: what it is owed is counted no more.
    func forget(_ subscription: SubscriptionHandle, _ backlog: Backlog) {
        queuedBytes -= backlog.lines.byteCount
        if backlog.isReady { ready.remove(subscription) }
        if backlog.awaitsReply { unanswered.remove(subscription) }
    }

    var isEmpty: Bool {
        ready.isEmpty && deferred.isEmpty && queuedBytes == 0 && owedCount == 0 && unanswered.isEmpty
            && replaying.isEmpty
    }
}

extension Catchup {
    private static var always: Invariants { Invariants(of: "Catchup") }

    /// What it counts and lists is what the subscriptions of its session have.
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
        let areListed = Set(ready.all) == waiting.ready && ready.count == waiting.ready.count
        try Self.always.hold("it lists what is ready, each once", areListed, of: client)
        let areUnanswered =
            Set(unanswered.all) == waiting.unanswered && unanswered.count == waiting.unanswered.count
        try Self.always.hold("it lists what is unanswered, each once", areUnanswered, of: client)
        let areReplaying =
            Set(replaying.all) == waiting.replaying && replaying.count == waiting.replaying.count
        try Self.always.hold("it lists what is told again, each once", areReplaying, of: client)
    }

    /// What the subscriptions of a session wait for.
    struct Waiting {
        private(set) var owedCount = 0
        private(set) var queuedBytes = 0
        private(set) var ready: Set<SubscriptionHandle> = []
        private(set) var unanswered: Set<SubscriptionHandle> = []
        private(set) var replaying: Set<SubscriptionHandle> = []

        init(_ session: SessionHandle, _ hub: borrowing Hub) {
            for subscription in hub.sessions[session].subscriptions.list.all {
                guard let backlog = hub.matching[subscription].backlog else { continue }
                owedCount += backlog.keys.count
                queuedBytes += backlog.lineBytes
                if backlog.isReady { ready.insert(subscription) }
                if backlog.awaitsReply { unanswered.insert(subscription) }
                if backlog.replay != nil { replaying.insert(subscription) }
            }
        }

        /// Nothing has to wait.
        var isNothing: Bool {
            owedCount == 0 && queuedBytes == 0 && ready.isEmpty && unanswered.isEmpty && replaying.isEmpty
        }
    }
}
