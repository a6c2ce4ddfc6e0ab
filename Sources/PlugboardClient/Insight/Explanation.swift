// The answer to `explain`: what a write would do. `explain` writes nothing. The answer is a copy of the
// broker's reply and doesn't change later. A field that the reply lacks is empty, 0, false or nil.

/// The outcome that a write would have.
public struct Explanation: Sendable, Equatable {
    /// A subscription that matches the key.
    public struct Observer: Sendable, Equatable {
        public enum Outcome: String, Sendable {
            /// It would get the event at once.
            case sent
            /// It has to wait, because the subscription lags behind or has `every`.
            case queued
            /// The same, but the subscription would get only the newest value.
            case conflated
            /// The subscription is paused, so the event waits until a client resumes it.
            case paused
            /// It waits for observers of an earlier phase, which `awaits` names.
            case waiting
            /// The subscription didn't ask for this change.
            case filtered
            /// There is no room for the event; a `lagged` would say so.
            case dropped
        }

        /// The earlier phase for which an observer waits.
        public struct Awaited: Sendable, Equatable {
            public let phase: Int
            /// Observers of that phase that haven't acknowledged yet; at most eight.
            public let observers: [Acknowledger]
            /// Whether there are more of them.
            public let hasMore: Bool
        }

        /// A subscription for whose `ack` others wait.
        public struct Acknowledger: Sendable, Equatable {
            public let client: Int
            public let name: String
            /// The subscription: a text or a number.
            public let sub: JSON
        }

        /// The client's number, its name, and its process if the system says which.
        public let client: Int
        public let name: String
        public let process: Int?
        /// The subscription (a text or a number), and its pattern that matches.
        public let sub: JSON
        public let pattern: String
        public let phase: Int
        /// Nil for a word that this library doesn't know.
        public let outcome: Outcome?
        /// Nil if it waits for no earlier phase.
        public let awaits: Awaited?
    }

    public let key: String
    /// The error that the write would get; nil if it would be made. With an error, the other fields are
    /// empty.
    public let refusal: BusError?
    /// The event that observers would get: `update`, `delete` or `emit`.
    public let event: Event.Kind?
    /// The revision that the write would get.
    public let revision: Int?
    /// The value that observers would get. For a patch, the whole result.
    public let value: JSON?
    /// The observers in the order in which they would get the event; at most 1,000.
    public let observers: [Observer]
    /// Whether there are more observers.
    public let hasMore: Bool
    /// A remark for a person, such as that nobody observes the key.
    public let note: String?

    init(_ json: JSON) {
        key = json.text("key")
        refusal = json["refused"].map { BusError(refusal: $0) }
        event = json["effect"]?.string.flatMap { Event.Kind($0) }
        revision = json["revision"]?.integer
        value = json["value"]
        observers = json.list("observers").map { Observer($0) }
        hasMore = json.flag("more")
        note = json["note"]?.string
    }
}

extension Explanation.Observer {
    fileprivate init(_ json: JSON) {
        client = json.number("client")
        name = json.text("name")
        process = json["pid"]?.integer
        sub = json["sub"] ?? .null
        pattern = json.text("pattern")
        phase = json.number("phase")
        outcome = Outcome(rawValue: json.text("outcome"))
        awaits = json["awaits"].map { Awaited($0) }
    }
}

extension Explanation.Observer.Awaited {
    init(_ json: JSON) {
        phase = json.number("phase")
        observers = json.list("observers").map { Explanation.Observer.Acknowledger($0) }
        hasMore = json.flag("more")
    }
}

extension Explanation.Observer.Acknowledger {
    fileprivate init(_ json: JSON) {
        client = json.number("client")
        name = json.text("name")
        sub = json["sub"] ?? .null
    }
}

extension BusError {
    fileprivate init(refusal json: JSON) {
        self = .refused(
            code: Code(rawValue: json.text("error")),
            message: json.text("message"),
            hint: json["hint"]?.string,
            revision: json["revision"]?.integer
        )
    }
}

extension Event.Kind {
    fileprivate init?(_ name: String) {
        switch name {
        case "update": self = .update
        case "delete": self = .delete
        case "emit": self = .emit
        default: return nil
        }
    }
}
