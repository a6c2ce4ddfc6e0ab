// One row of the bench as data: how much is published to whom, and what is measured. Each system's
// dialect translates the same row. So a new feature needs a row in `Workloads` and, if its form on the
// wire is new, a line in a dialect.

/// What is sent, who observes it, and what is measured.
struct Workload: Equatable, Sendable {
    /// What a row measures.
    enum Measure: Equatable, Sendable {
        /// Messages per second and CPU per message, with as much load as the window allows.
        case rate
        /// The time from a write until every observer has read it, one message at a time.
        case roundTrip
        /// The server's memory for each connection that observes a key of its own.
        case idle(connections: Int)
        /// The server's memory for each key of the row and its value.
        case keys
        /// The time from the start of the process to its first reply.
        case startUp
        /// The same, on all keys of the row, which an earlier process kept.
        case recovery
        /// The longest wait for an answer while the server makes a snapshot. All keys of the row are
        /// written again and again.
        case snapshot
    }

    /// What each observing connection subscribes to.
    enum Interest: Equatable, Sendable {
        /// Every key that is published, by its exact name.
        case keys
        /// A number of patterns, of which `matching` match what is published.
        case patterns(Int, matching: Int)
    }

    /// What publishers send for each message. In a row with calls, the only observer serves them.
    enum Operation: Equatable, Sendable { case publish, call }

    /// What is there again after the server has ended.
    enum Keeping: Equatable, Sendable {
        /// Nothing. Everything is in memory.
        case nothing
        /// Everything of which observers were told, as a broker does that is started without further options. It
        /// is synced once a second.
        case journal
        /// Everything that was answered. Each write is answered when it is on disk.
        case durable
    }

    /// A connection for which nothing waits.
    struct Bystander: Equatable, Sendable {
        /// Its first request.
        let request: String
        /// Whether it reads. If it doesn't, more and more waits for it.
        let reads: Bool
    }

    /// A short, unique name, for `--only`.
    let name: String
    var measure = Measure.rate
    /// The bytes of each value, which is JSON.
    var valueBytes = 128
    /// Whether keys and values are those of real traffic; nil for keys and values of one length each.
    var mixed: MixedTraffic.Spelling?
    /// Whether every other value is a byte shorter, so that no value differs from the one before only in digits.
    var changesLength = false
    var publishers = 1
    /// The number of observing connections.
    var observers = 0
    /// More connections. Each observes a key of its own, which nobody publishes.
    var connectionsAtRest = 0
    /// The number of keys. They are published in turn, in the order in which they were made.
    var keys = 1
    /// How many digits the number in each key has.
    var keyDigits = 6
    /// Whether they are published in another order, which has no rule.
    var isShuffled = false
    var interest = Interest.keys
    var operation = Operation.publish
    /// More members of each observer's `subscribe`, as the broker's protocol spells them. `#` stands for the
    /// number of the observer. A row that
    /// isn't plain (see `isPlain`) measures an option, beside the same row without it.
    var subscribing = ""
    /// The members for the first observer instead of `subscribing`. It acknowledges every message.
    var acknowledging: String?
    /// More members of each write.
    var writing = ""
    var bystander: Bystander?
    /// Whether observers are told of every message. If not, only answers limit what is on its way.
    var tellsEach = true
    var keeping = Keeping.nothing
    /// Whether it is measured for a long time without a pause: a minute, if the usual runs take 0.25 s.
    var isSustained = false
    /// Whether every write is answered, instead of one in each batch.
    var isAcknowledged = false
    /// The number of messages that a publisher writes to its socket at once.
    var batch = 64
    /// How many batches of each publisher may be on their way: enough that no side waits for the other to
    /// wake up, and few enough that no peer drops anything.
    var window = 8

    /// A copy of the row with changes.
    func with(_ change: (inout Workload) -> Void) -> Workload {
        var copy = self
        change(&copy)
        return copy
    }

    /// The bytes of the value at a place in its batch. So all batches have the same length, as the limit expects.
    func valueBytes(of index: Int) -> Int { valueBytes - (changesLength ? index & 1 : 0) }

    /// The row as the observer with this number subscribes.
    func asObserver(_ number: Int) -> Workload {
        with {
            let parts = $0.subscribing.split(separator: "#", omittingEmptySubsequences: false)
            $0.subscribing = parts.joined(separator: "\(number)")
        }
    }

    /// The row without its options, or, if it has none, without a journal.
    var plain: Workload {
        with {
            if isPlain { $0.keeping = .nothing }
            ($0.operation, $0.tellsEach) = (.publish, true)
            ($0.subscribing, $0.acknowledging, $0.writing, $0.bystander) = ("", nil, "", nil)
        }
    }

    /// The row as a broker that is started without further options runs it: with a journal.
    var asUsual: Workload { with { if isLoad && keeping == .nothing { $0.keeping = .journal } } }

    /// Whether the row needs nothing that only this project's broker has.
    var isPlain: Bool {
        operation == .publish && subscribing.isEmpty && acknowledging == nil && writing.isEmpty
            && bystander == nil && tellsEach
    }

    /// Whether other systems can do the same.
    var isForPeers: Bool { isPlain && (isLoad || keeping != .journal) }

    /// Whether only systems that keep values can do the same.
    var needsValues: Bool { measure == .keys }

    /// Whether publishers send for the whole length of a run.
    var isLoad: Bool { measure == .rate || measure == .roundTrip }

    /// Whether the last message of each batch is answered, by systems that answer.
    var answersBatches: Bool { measure == .rate || measure == .snapshot }

    /// Whether each batch is timed, one at a time.
    var isTimed: Bool { measure == .roundTrip || measure == .snapshot }

    /// How often each observing connection gets a message.
    var deliveriesPerObserver: Int {
        switch interest {
        case _ where !tellsEach: 0
        case .keys: 1
        case .patterns(_, let matching): matching
        }
    }

    /// How often all observers together get a message.
    var deliveriesPerMessage: Int { observers * deliveriesPerObserver }
}

extension Workload {
    /// One key, values of 128 bytes, no observer.
    init(_ name: String) {
        self.init(name: name)
    }
}
