// The state of the connection, as the program sees it, what the broker said when it began, and the pauses
// between attempts. All of them are values, so any thread may use a copy.

/// The state of a bus's connection.
public enum ConnectionState: Sendable, Equatable {
    /// Nobody has answered yet.
    case connecting
    /// The broker answered for the first time.
    case connected(Greeting)
    /// The connection broke. The bus tries again, after pauses that grow.
    case disconnected(BusError)
    /// The broker answers again, and all subscriptions are live again. If `epochChanged`, it counts
    /// revisions anew, and earlier revisions have no meaning.
    case reconnected(Greeting, epochChanged: Bool)
    /// The bus is closed for ever. The error is the reason, unless `close()` was called.
    case closed(BusError?)

    public var isConnected: Bool {
        switch self {
        case .connected, .reconnected: true
        case .connecting, .disconnected, .closed: false
        }
    }
}

/// What the broker said when the connection began.
public struct Greeting: Sendable, Equatable {
    /// The version of the broker's software.
    public let version: String
    public let protocolNumber: Int
    /// The name of the life of the revision counter.
    public let epoch: String
    /// The bus's revision when the connection began.
    public let revision: Int
    /// This connection's number.
    public let client: Int
    /// This connection's permanent name, if a supervisor such as `plugboard up` started this program.
    public let name: String?
    /// The broker's limits by name, such as `line`.
    public let limits: [String: Int]
    /// What the broker can do beyond the simplest core.
    public let features: [String]
}

/// How long to wait between attempts to connect.
public struct Backoff: Sendable, Equatable {
    /// The pause after the first failure. It doubles with each further failure, up to `maximum`.
    public var initial: Duration
    public var maximum: Duration
    /// The part of a pause that is random, from 0 to 1, so that a broker's clients don't all come back at
    /// once.
    public var jitter: Double

    public init(
        initial: Duration = .milliseconds(100), maximum: Duration = .seconds(3), jitter: Double = 0.5
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
