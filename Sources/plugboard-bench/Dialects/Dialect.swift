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
    /// Files that it reads, by their path.
    var files: [(path: String, text: String)] = []
}

/// What a connection of the load generator is for.
enum LinkRole: Sendable {
    /// The publisher with that number.
    case publisher(Int)
    case observer
    /// Observes a key that nobody publishes.
    case resting
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
    /// The words that make the program print its version.
    var versionArguments: [String] { get }
    /// Each turn of the server reads once, as much as there is, so that the mean of a read is
    /// the mean of a turn and follows what publishers write at once.
    var readsOncePerTurn: Bool { get }
    /// The row as it is measured here.
    func workload(_ workload: Workload) -> Workload
    /// Whether this row means something here.
    func supports(_ workload: Workload) -> Bool
    /// How to start the server with `folder` to itself for a row; nil where it isn't installed.
    func plan(folder: String, for workload: Workload) throws -> ServerPlan?
    /// Greets on a fresh connection, waiting for the server's answer.
    func open(_ link: Link, workload: Workload, as role: LinkRole) throws
    /// Makes, once for a server, what the workload needs.
    func prepare(_ link: Link, workload: Workload) throws
    /// Subscribes as the workload says, waiting until all of it holds.
    func subscribe(_ link: Link, workload: Workload) throws
    /// Does the same, as one whose acknowledgement of every message is waited for, or whose answer.
    func subscribeAnswering(_ link: Link, workload: Workload) throws
    /// What such a one says to a line that it is told; nil where that wants no answer.
    func answer(to line: ArraySlice<UInt8>) -> [UInt8]?
    /// Subscribes to one key.
    func subscribe(_ link: Link, key: [String]) throws
    func appendWrite(_ message: Message, to bytes: inout [UInt8])
    /// Asks for an answer that comes after everything before it, where no write does.
    func appendBatchEnd(to bytes: inout [UInt8])
    /// What one delivery of a message of this workload looks like to an observer.
    func deliveryMark(_ workload: Workload) -> Mark
    /// What comes back to the publisher for a whole batch.
    func batchMark(_ workload: Workload) -> Mark
    /// One request and its answer, on a fresh connection.
    func firstReply(_ link: Link) throws
}

extension Dialect {
    var isVariant: Bool { false }
    var programName: String? { nil }
    var versionArguments: [String] { ["--version"] }
    var readsOncePerTurn: Bool { false }
    func workload(_ workload: Workload) -> Workload { workload }
    func subscribeAnswering(_ link: Link, workload: Workload) throws {
        try subscribe(link, workload: workload)
    }
    func answer(to line: ArraySlice<UInt8>) -> [UInt8]? { nil }
    func prepare(_ link: Link, workload: Workload) throws {}
    func appendBatchEnd(to bytes: inout [UInt8]) {}
}
