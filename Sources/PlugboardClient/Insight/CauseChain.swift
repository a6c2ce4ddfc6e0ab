// The answer to `why`: the writes that led to a value, the newest first. It is a copy of the broker's
// reply and doesn't change later. A field that the reply lacks is empty, 0, false or nil.

/// A chain of causes.
public struct CauseChain: Sendable, Equatable {
    /// A write, or a call. The next step is the one that it named as its cause.
    public struct Step: Sendable, Equatable {
        public let key: String
        public let revision: Int
        /// `publish`, `patch`, `add`, `delete`, `emit` or `call`; nil if the broker no longer knows.
        public let operation: String?
        /// The writer: a client's name, or `#` and its number.
        public let by: String
        /// Who wrote it first, if the writer passed it on and said so.
        public internal(set) var origin: String?
        /// The time in UTC, such as `2026-11-21T13:05:00.123Z`; nil if the broker no longer knows.
        public let when: String?
        /// Why the broker wrote instead of the writer; nil if the writer itself did.
        public let reason: Event.Reason?
        /// The revision that it named as its cause, if any.
        public let cause: Int?
    }

    public let key: String
    /// The writes, from the newest write of the key back to the root.
    public let steps: [Step]
    /// Whether the chain continues beyond what the broker remembers.
    public let isTruncated: Bool
    /// Whether the chain continues beyond the limit of the request.
    public let hasMore: Bool

    init(_ json: JSON) {
        key = json.text("key")
        steps = json.list("chain").map { Step($0) }
        isTruncated = json.flag("truncated")
        hasMore = json.flag("more")
    }
}

extension CauseChain.Step {
    fileprivate init(_ json: JSON) {
        key = json.text("key")
        revision = json.number("revision")
        operation = json["op"]?.string
        by = json.text("by")
        origin = json["origin"]?.string
        when = json["when"]?.string
        reason = json["reason"]?.string.map { Event.Reason(rawValue: $0) }
        cause = json["cause"]?.integer
    }
}
