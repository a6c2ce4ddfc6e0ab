// One row of the bench, as data: how much of what is published to whom, and what is
// measured. Every system's dialect translates the same row. So a new feature adds a row to
// `Workloads` and, if its form on the wire is new, a line to a dialect.

/// What is sent, who observes it, and what is measured.
struct Workload: Sendable {
    /// What a row measures.
    enum Measure: Equatable, Sendable {
        /// Messages per second and CPU per message, as fast as the window allows.
        case rate
        /// The time from a write until every observer has read it, one at a time.
        case roundTrip
        /// The server's memory for each connection that observes a key of its own.
        case idle(connections: Int)
        /// The time from the start of the process to its first reply.
        case startUp
        /// The same, with all keys of the row kept by an earlier process.
        case recovery
        /// The longest wait for an answer while the server makes a snapshot. All keys of the row
        /// are written again and again.
        case snapshot
    }

    /// What each observing connection subscribes to.
    enum Interest: Equatable, Sendable {
        /// Every key that is published, by its exact name.
        case keys
        /// So many patterns, `matching` of which match what is published.
        case patterns(Int, matching: Int)
    }

    /// What publishers send for each message. The only observer serves a call.
    enum Operation: Equatable, Sendable { case publish, call }

    /// What exists again after the server has ended.
    enum Keeping: Equatable, Sendable {
        /// Nothing: everything is in memory.
        case nothing
        /// What observers were told. It is brought to disk once a second.
        case journal
        /// What was answered. Each write is answered when it is on disk.
        case durable
    }

    /// One more connection. Nothing waits for it.
    struct Bystander: Equatable, Sendable {
        /// Its first request.
        let request: String
        /// Whether it reads. If not, ever more waits for it until the row is over.
        let reads: Bool
    }

    /// A short, unique name, for `--only`.
    let name: String
    var measure = Measure.rate
    /// Bytes of each value, which is JSON text.
    var valueBytes = 128
    var publishers = 1
    /// The number of observing connections.
    var observers = 0
    /// Further connections. Each subscribes to a key that nobody publishes.
    var connectionsAtRest = 0
    /// The number of keys, which are published in turn.
    var keys = 1
    var interest = Interest.keys
    var operation = Operation.publish
    /// Further members of each observer's `subscribe`, as the broker's protocol spells them. With
    /// them, or with one of the next four, the row measures an option, beside the same row without
    /// it.
    var subscribing = ""
    /// The members of the first observer, instead of `subscribing`. It acknowledges every message.
    var acknowledging: String?
    /// Further members of each write.
    var writing = ""
    var bystander: Bystander?
    /// Observers are told of every message. If not, only answers limit what is on its way.
    var tellsEach = true
    var keeping = Keeping.nothing
    /// Every write is answered, instead of one per batch.
    var isAcknowledged = false
    /// Messages in each write of a publisher to its socket.
    var batch = 64
    /// Batches of each publisher that may be on their way at once: enough that no side waits for
    /// the other to wake up, and few enough that no peer drops anything.
    var window = 8

    /// The same row with changes.
    func with(_ change: (inout Workload) -> Void) -> Workload {
        var copy = self
        change(&copy)
        return copy
    }

    /// The same row without its options.
    var plain: Workload {
        with {
            ($0.operation, $0.keeping, $0.tellsEach) = (.publish, .nothing, true)
            ($0.subscribing, $0.acknowledging, $0.writing, $0.bystander) = ("", nil, "", nil)
        }
    }

    /// Whether it needs nothing that only this project's broker has.
    var isPlain: Bool {
        operation == .publish && subscribing.isEmpty && acknowledging == nil && writing.isEmpty
            && bystander == nil && tellsEach
            && (keeping != .journal || measure == .recovery || measure == .snapshot)
    }

    /// Whether other systems can do the same.
    var isForPeers: Bool { isPlain && keeping != .journal }

    /// Whether messages are published for as long as a run takes.
    var isLoad: Bool { measure == .rate || measure == .roundTrip }

    /// Whether systems that answer do so for the last message of each batch.
    var answersBatches: Bool { measure == .rate || measure == .snapshot }

    /// Whether every batch is timed, one after the other.
    var isTimed: Bool { measure == .roundTrip || measure == .snapshot }

    /// Deliveries of one message to each observing connection.
    var deliveriesPerObserver: Int {
        switch interest {
        case _ where !tellsEach: 0
        case .keys: 1
        case .patterns(_, let matching): matching
        }
    }

    /// Deliveries of one message.
    var deliveriesPerMessage: Int { observers * deliveriesPerObserver }
}

extension Workload {
    /// One key, 128 bytes and no observer. A row only says what is different.
    init(_ name: String) {
        self.init(name: name)
    }
}
