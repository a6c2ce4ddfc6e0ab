// The seam between workloads and systems: how a system is started, spoken to and
// listened to. A dialect says what bytes mean; only the generator moves them.

/// How to start a server.
struct ServerPlan {
    /// An absolute path.
    var program: String
    var arguments: [String]
    var endpoint: Endpoint
    /// `NAME=value` each, beside the variables of this process.
    var environment: [String] = []
}

/// What a connection of the load generator is for.
enum LinkRole: Sendable {
    /// The publisher with that number.
    case publisher(Int)
    case observer
    /// Observes a key that nobody publishes.
    case resting
}

/// What a peer does for each message: the rows "same work" and "plain publish".
enum PeerWork: Sendable {
    /// Keeps the value and tells the observers, as plugboard does.
    case keepAndTell
    /// Tells the observers and keeps nothing.
    case tell

    var summary: String {
        self == .keepAndTell ? "keeps the value, tells the observers" : "tells the observers, keeps nothing"
    }
}

/// A system under measurement: a server, used in one way.
protocol Dialect: Sendable {
    /// As it stands in the table, such as `redis PUBLISH`.
    var name: String { get }
    /// The server's own name, such as `redis`.
    var server: String { get }
    /// The system's program, to be found in the usual places; nil for our own.
    var programName: String? { get }
    /// What the server does for a message, in a few words.
    var summary: String { get }
    /// Another dialect stands for the same server where only the server matters.
    var isVariant: Bool { get }
    /// The word that makes the program print its version.
    var versionOption: String { get }
    /// Each turn of the server reads once, as much as there is, so that the mean of a read is
    /// the mean of a turn and follows what publishers write at once.
    var readsOncePerTurn: Bool { get }
    /// The row as it is measured here.
    func workload(_ workload: Workload) -> Workload
    /// Whether this row means something here.
    func supports(_ workload: Workload) -> Bool
    /// How to start the server with `folder` to itself for a row.
    func plan(folder: String, for workload: Workload) throws -> ServerPlan
    /// Greets on a fresh connection, waiting for the server's answer.
    func open(_ link: LoadLink, workload: Workload, as role: LinkRole) throws
    /// Makes, once for a server, what the workload needs.
    func prepare(_ link: LoadLink, workload: Workload) throws
    /// Subscribes to keys or patterns, as the workload says, waiting until all of it holds.
    func subscribe(_ link: LoadLink, to names: [String], _ workload: Workload) throws
    /// Subscribes as the workload says; also as one whose acknowledgement of every message is waited
    /// for, or whose answer.
    func observe(_ link: LoadLink, _ workload: Workload, answering: Bool) throws
    /// What such a one says to a line that it is told; nil where that wants no answer.
    func answer(to line: ArraySlice<UInt8>) -> [UInt8]?
    func appendWrite(_ message: Message, to bytes: inout [UInt8])
    /// Asks for an answer that comes after everything before it, where no write does.
    func appendBatchEnd(to bytes: inout [UInt8])
    /// What one delivery of a message of this workload looks like to an observer.
    func deliveryMark(_ workload: Workload) -> Mark
    /// What comes back to the publisher for a whole batch.
    func batchMark(_ workload: Workload) -> Mark
    /// One request and its answer, on a fresh connection.
    func firstReply(_ link: LoadLink) throws
}

extension Dialect {
    var isVariant: Bool { false }
    var programName: String? { nil }
    var versionOption: String { "--version" }
    var readsOncePerTurn: Bool { false }
    func workload(_ workload: Workload) -> Workload { workload }
    func prepare(_ link: LoadLink, workload: Workload) throws {}
    func observe(_ link: LoadLink, _ workload: Workload, answering: Bool) throws {
        try subscribe(link, to: Names.subscriptions(of: workload), workload)
    }
    func answer(to line: ArraySlice<UInt8>) -> [UInt8]? { nil }
    func appendBatchEnd(to bytes: inout [UInt8]) {}
}

extension Array {
    /// In pieces of so many as a request may ask for at once.
    var pieces: [ArraySlice<Element>] {
        stride(from: 0, to: count, by: 500).map { self[$0..<Swift.min($0 + 500, count)] }
    }
}
