// The answer to "what if": what a write would do.

/// The outcome that a write would have.
public struct Explanation: Sendable, Equatable {
    /// A subscription that would be concerned.
    public struct Observer: Sendable, Equatable {
        public enum Outcome: String, Sendable {
            /// It would get the event at once.
            case sent
            /// It is behind, or has `every`: the event would wait for its turn.
            case queued
            /// The same, but it would get only the newest value.
            case conflated
            /// It waits for somebody to let it go on.
            case paused
            /// It waits for an earlier phase; `awaits` names the observers that it waits for.
            case waiting
            /// It didn't ask for this change.
            case filtered
            /// There is no room; it would learn of the gap.
            case dropped
        }

        /// The earlier phase that an observer waits for.
        public struct Awaited: Sendable, Equatable {
            public let phase: Int
            /// Those of it that have yet to acknowledge, at most eight.
            public let observers: [Acknowledger]
            /// Whether there are others beyond those.
            public let hasMore: Bool
        }

        /// A subscription that others wait for.
        public struct Acknowledger: Sendable, Equatable {
            public let client: Int
            public let name: String
            /// A text or a number.
            public let sub: JSON
        }

        /// The client's number, its name and its process, where the system says which.
        public let client: Int
        public let name: String
        public let process: Int?
        /// The subscription, a text or a number, and the pattern of it that matches.
        public let sub: JSON
        public let pattern: String
        public let phase: Int
        /// Nil for a word that this library doesn't know.
        public let outcome: Outcome?
        /// Nil where it waits for no earlier phase.
        public let awaits: Awaited?
    }

    public let key: String
    /// The error that the write would get; nil where it would be made. Otherwise the rest of
    /// this is empty.
    public let refusal: BusError?
    /// The event that observers would get: `update`, `delete` or `emit`.
    public let event: Event.Kind?
    /// The revision that it would have.
    public let revision: Int?
    /// The value that observers would get; for a patch the whole result.
    public let value: JSON?
    /// In the order in which they would get the event; at most 1,000.
    public let observers: [Observer]
    /// Whether there are observers beyond those.
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
