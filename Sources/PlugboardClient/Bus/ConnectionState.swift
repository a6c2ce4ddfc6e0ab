// The state of the connection, as the program sees it.

/// The state of a bus's connection.
public enum ConnectionState: Sendable, Equatable {
    /// Nobody answered yet.
    case connecting
    /// The broker answered, for the first time.
    case connected(Greeting)
    /// The connection broke; it is tried again, after growing pauses.
    case disconnected(BusError)
    /// The broker is back, and so are all subscriptions. With `epochChanged` it counts revisions
    /// anew: earlier revisions mean nothing any more.
    case reconnected(Greeting, epochChanged: Bool)
    /// Closed for good; with the reason if it wasn't `close()`.
    case closed(BusError?)

    public var isConnected: Bool {
        switch self {
        case .connected, .reconnected: true
        case .connecting, .disconnected, .closed: false
        }
    }
}

/// What the broker said about itself when the connection began.
public struct Greeting: Sendable, Equatable {
    /// The broker's software version.
    public let version: String
    public let protocolNumber: Int
    /// Names the life of the revision counter.
    public let epoch: String
    /// The bus's revision at that moment.
    public let revision: Int
    /// This connection's number.
    public let client: Int
    /// The name that this connection has for good, where `plugboard up` started this program.
    public let name: String?
    /// The broker's limits by name, such as `line`.
    public let limits: [String: Int]
    /// What the broker can do beyond the core.
    public let features: [String]
}

/// How long to wait between attempts to connect.
public struct Backoff: Sendable, Equatable {
    /// The pause after the first failure; it doubles with each further one.
    public var initial: Duration
    public var maximum: Duration
    /// The share of a pause that is left to chance, 0 to 1, so that a broker's clients
    /// don't all come back at once.
    public var jitter: Double

    public init(
        initial: Duration = .milliseconds(100),
        maximum: Duration = .seconds(3),
        jitter: Double = 0.5
    ) {
        self.initial = initial
        self.maximum = maximum
        self.jitter = jitter
    }

    /// The pause before attempt `number` (from 0) after a failure, in nanoseconds.
    func pause(_ number: Int) -> UInt64 {
        let doublings = min(max(0, number), 30)
        let full = min(Double(initial.nanoseconds) * Double(1 << doublings), Double(maximum.nanoseconds))
        let share = min(max(0, jitter), 1)
        return UInt64(full * (1 - share) + full * share * Double.random(in: 0...1))
    }
}

extension Duration {
    /// Whole nanoseconds; 0 for a negative duration.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? UInt64.max / 2 : min(product + UInt64(attoseconds) / 1_000_000_000, UInt64.max / 2)
    }
}
