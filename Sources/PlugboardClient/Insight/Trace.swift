// What a trace reports: a write, and what became of it for each of its observers; or a call. The bus's thread
// makes a `Trace` from each line. An outcome that this library doesn't know is nil.

import PlugboardMemory
import PlugboardWire

/// A write to a key that is traced, or a call of it.
public struct Trace: Sendable, Equatable {
    /// A subscription that matches the key.
    public struct Observer: Sendable, Equatable {
        /// The client's number and name.
        public let client: Int
        public let name: String
        /// The subscription: a text or a number.
        public let sub: JSON
        /// Nil for a word that this library doesn't know.
        public let outcome: Explanation.Observer.Outcome?
        /// Nil if it waits for no earlier phase.
        public let awaits: Explanation.Observer.Awaited?
        /// Microseconds from the write until it was written to the observer's socket; nil if that wasn't
        /// at once.
        public let microseconds: Int?
    }

    /// What became of a call.
    public struct TracedCall: Sendable, Equatable {
        /// The call's name; nil if nobody serves the key.
        public let name: String?
        /// The number and the name of the client that is to answer it; nil while nobody is.
        public let server: Int?
        public let serverName: String?
        /// `asked`, `held`, `answered`, `failed` or `abandoned`.
        public let outcome: String
        /// The code of the error that the caller got, if it got one.
        public let code: String?
        /// How long it took; nil while it waits.
        public let microseconds: Int?
    }

    public let key: String
    public let revision: Int
    /// `publish`, `patch`, `add`, `delete` or `emit`; or `call`.
    public let operation: String
    /// The writer: a client's name, or `#` and its number.
    public let by: String
    /// Who wrote it first, if the writer passed it on and said so.
    public internal(set) var origin: String?
    /// Why the broker wrote instead of the writer; nil if the writer itself did.
    public let reason: Event.Reason?
    /// The revision that it named as its cause, if any.
    public let cause: Int?
    /// The call, if this isn't a write.
    public let call: TracedCall?
    /// The observers in the order in which they get the event; at most 1,000.
    public let observers: [Observer]
    /// Whether there are more observers.
    public let hasMore: Bool
    /// How many writes just before this one are missing because the trace was read too slowly.
    public internal(set) var dropped = 0

    init(_ json: JSON) {
        key = json.text("key")
        revision = json.number("revision")
        operation = json.text("op")
        by = json.text("by")
        origin = json["origin"]?.string
        reason = json["reason"]?.string.map { Event.Reason(rawValue: $0) }
        cause = json["cause"]?.integer
        call = operation == "call" ? TracedCall(json) : nil
        observers = json.list("observers").map { Observer($0) }
        hasMore = json.flag("more")
    }
}

extension Trace.TracedCall {
    fileprivate init(_ json: JSON) {
        name = json["call"]?.string
        server = json["server"]?["client"]?.integer
        serverName = json["server"]?["name"]?.string
        outcome = json.text("outcome")
        code = json["code"]?.string
        microseconds = json["microseconds"]?.integer
    }
}

extension Trace.Observer {
    fileprivate init(_ json: JSON) {
        client = json.number("client")
        name = json.text("name")
        sub = json["sub"] ?? .null
        outcome = Explanation.Observer.Outcome(rawValue: json.text("outcome"))
        awaits = json["awaits"].map { Explanation.Observer.Awaited($0) }
        microseconds = json["microseconds"]?.integer
    }
}

/// Turns a trace's lines into calls of its handler. Only the bus's thread uses it.
final class TraceLines: @unchecked Sendable {
    private let handler: @Sendable (Trace) -> Void
    /// Writes that are missing, to be reported with the next one.
    private var dropped = 0

    init(_ handler: @escaping @Sendable (Trace) -> Void) {
        self.handler = handler
    }

    /// Takes an event of the trace's subscription.
    func take(_ line: ParsedLine, _ bytes: Span<UInt8>) {
        if line.head.bytes(of: bytes).spells("lagged") {
            dropped += bytes.integer(line.dropped) ?? 0
        } else if line.head.bytes(of: bytes).spells("trace") {
            var trace = Trace(JSON(copying: bytes))
            trace.dropped = dropped
            dropped = 0
            handler(trace)
        }
    }
}
