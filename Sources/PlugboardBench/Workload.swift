// One row of the bench, as data: how much of what is published to whom, and what is
// measured. Every system's dialect translates the same row, so a feature that comes
// later adds a row to `Workloads` and, where its wire form is new, a line to a dialect.

/// What is sent, who observes it, and what of that is measured.
public struct Workload: Sendable {
    /// What a row tells.
    public enum Measure: Equatable, Sendable {
        /// Messages a second and CPU per message, as fast as the window allows.
        case rate
        /// The time from a write until every observer has read it, one at a time.
        case roundTrip
        /// Memory of the server's process per connection that observes a key of its own.
        case idle(connections: Int)
        /// The time from starting the process to its first reply.
        case startUp
    }

    /// What each observing connection subscribes to.
    public enum Interest: Equatable, Sendable {
        /// Every key that is published, each by its exact name.
        case keys
        /// That many patterns, so many of which match what is published.
        case patterns(Int, matching: Int)
    }

    /// What an update carries.
    public enum Telling: Equatable, Sendable {
        case values
        /// Which key changed, without its value.
        case keysOnly
        case oldAndNew
    }

    /// Short, unique, what `--only` looks for.
    public let name: String
    public var measure = Measure.rate
    /// Bytes of each value, which is JSON text.
    public var valueBytes = 128
    public var publishers = 1
    /// Observing connections.
    public var observers = 0
    /// Further connections, each with a subscription to a key that nobody publishes.
    public var connectionsAtRest = 0
    /// Distinct keys, published in turn.
    public var keys = 1
    public var interest = Interest.keys
    public var telling = Telling.values
    /// Every write is answered, rather than one for each batch.
    public var isAcknowledged = false
    /// Messages in each of a publisher's writes to its socket.
    public var batch = 64
    /// Batches of each publisher that may be on their way at once.
    public var window = 2

    public init(_ name: String) {
        self.name = name
    }

    /// The same row with changes.
    public func with(_ change: (inout Workload) -> Void) -> Workload {
        var copy = self
        change(&copy)
        return copy
    }

    /// Deliveries that one message causes on each observing connection.
    var deliveriesPerObserver: Int {
        switch interest {
        case .keys: 1
        case .patterns(_, let matching): matching
        }
    }

    /// Deliveries that one message causes.
    var deliveriesPerMessage: Int { observers * deliveriesPerObserver }
}
