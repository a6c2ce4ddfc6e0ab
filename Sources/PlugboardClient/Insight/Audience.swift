// The answer to `who`: the observers of a key, its writer and its server. It is a copy of the broker's
// reply and doesn't change later. A field that the reply lacks is empty, 0, false or nil.

/// The observers, the writer and the server of a key.
public struct Audience: Sendable, Equatable {
    /// A subscription that would get a write to the key.
    public struct Observer: Sendable, Equatable {
        public enum State: String, Sendable {
            /// It gets events at once.
            case live
            /// The broker owes it something, or it doesn't read what was sent to it.
            case lagging
            /// It is paused until a client resumes it.
            case paused
        }

        /// The client's number, its name, and its process if the system says which.
        public let client: Int
        public let name: String
        public let process: Int?
        /// The subscription (a text or a number), and its pattern that matches.
        public let sub: JSON
        public let pattern: String
        public let phase: Int
        /// Its state; nil for a word that this library doesn't know.
        public let state: State?
        /// Bytes that wait in the broker for the client.
        public let queuedBytes: Int
        /// Keys and lines that the broker owes the subscription.
        public let owed: Int
        /// The last revision up to which everything was sent, or is among the bytes that wait.
        public let revision: Int
    }

    /// The writer of the value.
    public struct Writer: Sendable, Equatable {
        /// Nil for the broker itself, and for clients of an earlier broker.
        public let client: Int?
        public let name: String
        /// Who wrote it first, if the writer passed it on and said so.
        public internal(set) var origin: String?
        /// Whether the connection of the value's writer is still open.
        public let isLive: Bool
        /// How long it may still take to come back and keep its value; nil if nobody waits for it.
        public internal(set) var grace: Duration?
        public let revision: Int
    }

    /// The server of the key.
    public struct Server: Sendable, Equatable {
        public let client: Int
        public let name: String
        public let process: Int?
        /// The most specific pattern that matches.
        public let pattern: String
        /// How many calls wait for its answers.
        public let calls: Int
        /// Who takes over when it ends, the first one first.
        public let spares: [Spare]
    }

    /// A client in line for what another one serves.
    public struct Spare: Sendable, Equatable {
        public let client: Int
        public let name: String
        public let process: Int?
    }

    public let key: String
    /// The observers in the order in which they get events; at most 1,000.
    public let observers: [Observer]
    /// Whether there are more observers. Then those that aren't `live` come first.
    public let hasMore: Bool
    /// Nil if the key has no value.
    public let writer: Writer?
    /// Nil if nobody serves the key.
    public let server: Server?

    init(_ json: JSON) {
        key = json.text("key")
        observers = json.list("observers").map { Observer($0) }
        hasMore = json.flag("more")
        writer = json["writer"].map { Writer($0) }
        server = json["server"].map { Server($0) }
    }
}

extension Audience.Observer {
    fileprivate init(_ json: JSON) {
        client = json.number("client")
        name = json.text("name")
        process = json["pid"]?.integer
        sub = json["sub"] ?? .null
        pattern = json.text("pattern")
        phase = json.number("phase")
        state = State(rawValue: json.text("state"))
        queuedBytes = json.number("queued")
        owed = json.number("owed")
        revision = json.number("revision")
    }
}

extension Audience.Writer {
    fileprivate init(_ json: JSON) {
        client = json["client"]?.integer
        name = json.text("name")
        origin = json["origin"]?.string
        isLive = json.flag("live")
        grace = json["grace"]?.integer.map { .milliseconds($0) }
        revision = json.number("revision")
    }
}

extension Audience.Server {
    fileprivate init(_ json: JSON) {
        client = json.number("client")
        name = json.text("name")
        process = json["pid"]?.integer
        pattern = json.text("pattern")
        calls = json.number("calls")
        spares = json.list("spares").map {
            Audience.Spare(client: $0.number("client"), name: $0.text("name"), process: $0["pid"]?.integer)
        }
    }
}
