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

extension Catchup {
    private static var always: Invariants { Invariants(of: "Catchup") }

    /// What it counts and lists is what the subscriptions of its session have.
    func checkInvariants(of session: SessionReference) throws(BrokenInvariant) {
        let client = "client \(session.pointee.client)"
        let waiting = Waiting(session)
        try Self.always.agree("it counts the keys that are owed", owedCount, waiting.owedCount, of: client)
        try Self.always.agree(
            "it counts the bytes that are queued",
            queuedBytes,
            waiting.queuedBytes,
            of: client
        )
        let areListed = Set(ready.elements) == waiting.ready && ready.count == waiting.ready.count
        try Self.always.hold("it lists what is ready, each once", areListed, of: client)
        let areUnanswered =
            Set(unanswered.elements) == waiting.unanswered && unanswered.count == waiting.unanswered.count
        try Self.always.hold("it lists what is unanswered, each once", areUnanswered, of: client)
        let areReplaying =
            Set(replaying.elements) == waiting.replaying && replaying.count == waiting.replaying.count
        try Self.always.hold("it lists what is told again, each once", areReplaying, of: client)
    }

    /// What the subscriptions of a session wait for.
    struct Waiting {
        private(set) var owedCount = 0
        private(set) var queuedBytes = 0
        private(set) var ready: Set<SubscriptionReference> = []
        private(set) var unanswered: Set<SubscriptionReference> = []
        private(set) var replaying: Set<SubscriptionReference> = []

        init(_ session: SessionReference) {
            for subscription in session.pointee.subscriptions.list.elements {
                guard let backlog = subscription.pointee.backlog else { continue }
                owedCount += backlog.pointee.keys.count
                queuedBytes += backlog.pointee.lineBytes
                if backlog.pointee.isReady { ready.insert(subscription) }
                if backlog.pointee.awaitsReply { unanswered.insert(subscription) }
                if backlog.pointee.replay != nil { replaying.insert(subscription) }
            }
        }

        /// Nothing has to wait.
        var isNothing: Bool {
            owedCount == 0 && queuedBytes == 0 && ready.isEmpty && unanswered.isEmpty && replaying.isEmpty
        }
    }
}
