// One row of the bench, as data: how much of what is published to whom, and what is
// measured. Every system's dialect translates the same row, so a feature that comes
// later adds a row to `Workloads` and, where its wire form is new, a line to a dialect.

/// What is sent, who observes it, and what of that is measured.
struct Workload: Sendable {
    /// What a row tells.
    enum Measure: Equatable, Sendable {
        /// Messages a second and CPU per message, as fast as the window allows.
        case rate
        /// The time from a write until every observer has read it, one at a time.
        case roundTrip
        /// Memory of the server's process per connection that observes a key of its own.
        case idle(connections: Int)
        /// The time from starting the process to its first reply.
        case startUp
        /// The same on what an earlier process of it kept: all keys of the row.
        case recovery
        /// The longest wait for an answer while a server puts together what it keeps: all keys of the
        /// row, written again and again.
        case snapshot
    }

    /// What each observing connection subscribes to.
    enum Interest: Equatable, Sendable {
        /// Every key that is published, each by its exact name.
        case keys
        /// That many patterns, so many of which match what is published.
        case patterns(Int, matching: Int)
    }

    /// What publishers send for each message: a call is served by the one observer.
    enum Operation: Equatable, Sendable { case publish, call }

    /// What is there again after the server has ended.
    enum Keeping: Equatable, Sendable {
        /// Nothing: it is all in memory.
        case nothing
        /// What was told; brought to disk once a second.
        case journal
        /// What was answered: each write is, when the disk has it.
        case durable
    }

    /// One more connection, which bounds nothing.
    struct Bystander: Equatable, Sendable {
        /// The request that it begins with.
        let request: String
        /// It reads what it is told; otherwise it is told ever more, until the row is over.
        let reads: Bool
    }

    /// Short, unique, what `--only` looks for.
    let name: String
    var measure = Measure.rate
    /// Bytes of each value, which is JSON text.
    var valueBytes = 128
    var publishers = 1
    /// Observing connections.
    var observers = 0
    /// Further connections, each with a subscription to a key that nobody publishes.
    var connectionsAtRest = 0
    /// Distinct keys, published in turn.
    var keys = 1
    var interest = Interest.keys
    var operation = Operation.publish
    /// Further members of each observer's `subscribe`, as the broker's protocol spells them.
    /// With them, or with one of the next four, the row is one of an option, and measured
    /// beside the same row without.
    var subscribing = ""
    /// In place of `subscribing`, those of the first observer, which acknowledges every message.
    var acknowledging: String?
    /// Further members of each write.
    var writing = ""
    var bystander: Bystander?
    /// Observers are told of every message; where they aren't, answers alone bound what is in flight.
    var tellsEach = true
    var keeping = Keeping.nothing
    /// Every write is answered, rather than one for each batch.
    var isAcknowledged = false
    /// Messages in each of a publisher's writes to its socket.
    var batch = 64
    /// Batches of each publisher that may be on their way at once: so many that nobody waits for
    /// the other to wake up, few enough that no peer drops anything.
    var window = 8

    /// The same row with changes.
    func with(_ change: (inout Workload) -> Void) -> Workload {
        var copy = self
        change(&copy)
        return copy
    }

    /// The row of the same shape without its options.
    var plain: Workload {
        with {
            ($0.operation, $0.keeping, $0.tellsEach) = (.publish, .nothing, true)
            ($0.subscribing, $0.acknowledging, $0.writing, $0.bystander) = ("", nil, "", nil)
        }
    }

    /// It uses nothing that only this project's broker has.
    var isPlain: Bool {
        operation == .publish && subscribing.isEmpty && acknowledging == nil && writing.isEmpty
            && bystander == nil && tellsEach
            && (keeping != .journal || measure == .recovery || measure == .snapshot)
    }

    /// Other systems can do the same.
    var isForPeers: Bool { isPlain && keeping != .journal }

    /// Messages are published for as long as a run takes.
    var isLoad: Bool { measure == .rate || measure == .roundTrip }

    /// The last message of each batch is answered, by systems that answer.
    var answersBatches: Bool { measure == .rate || measure == .snapshot }

    /// Every batch is timed, one after the other.
    var isTimed: Bool { measure == .roundTrip || measure == .snapshot }

    /// Deliveries that one message causes on each observing connection.
    var deliveriesPerObserver: Int {
        switch interest {
        case _ where !tellsEach: 0
        case .keys: 1
        case .patterns(_, let matching): matching
        }
    }

    /// Deliveries that one message causes.
    var deliveriesPerMessage: Int { observers * deliveriesPerObserver }
}

extension Workload {
    /// One key, 128 bytes, nobody observes: what a row says is what it has otherwise.
    init(_ name: String) {
        self.init(name: name)
    }
}
