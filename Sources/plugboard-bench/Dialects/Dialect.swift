// The interface between workloads and systems: how to start a system, what to send to it, and how to
// recognize what it sends. A dialect knows what bytes mean. The generator only moves them.

/// How to start a server.
struct ServerPlan {
    /// The absolute path of the program.
    var program: String
    var arguments: [String]
    var endpoint: Endpoint
    /// Variables as `NAME=value`, added to those of this process.
    var environment: [String] = []
}

/// What a connection of the load generator is for.
enum LinkRole: Sendable {
    /// The publisher with this number.
    case publisher(Int)
    case observer
    /// Observes a key that nobody publishes.
    case resting
}

/// What a peer does for each message.
enum PeerWork: Sendable {
    /// Keeps the value and tells the observers, as plugboard does.
    case keepAndTell
    /// Tells the observers and keeps nothing.
    case tell

    var summary: String {
        self == .keepAndTell ? "keeps the value, tells the observers" : "tells the observers, keeps nothing"
    }

    /// Whether it is all that a row needs.
    func suffices(for workload: Workload) -> Bool { self == .keepAndTell || !workload.needsValues }
}

/// A system to measure: a server, used in one way.
protocol Dialect: Sendable {
    /// Its name in the table, such as `redis PUBLISH`.
    var name: String { get }
    /// The server's own name, such as `redis`.
    var server: String { get }
    /// The name of the system's program, which is searched in the usual places; nil for our own.
    var programName: String? { get }
    /// What the server does for a message, in a few words.
    var summary: String { get }
    /// Whether another dialect measures the same server. Rows in which only the server matters then leave
    /// this one out.
    var isVariant: Bool { get }
    /// Whether it is a peer that does the same work for a message as plugboard.
    var isEqualPeer: Bool { get }
    /// The option that makes the program print its version.
    var versionOption: String { get }
    /// Whether each turn of the server reads once, as much as there is. Then the messages per read are
    /// those per turn, and they depend on how much publishers write at once.
    var readsOncePerTurn: Bool { get }
    /// The row in the form in which this system runs it.
    func workload(_ workload: Workload) -> Workload
    /// Whether the row means something for this system.
    func supports(_ workload: Workload) -> Bool
    /// How to start the server. `folder` belongs to this server alone.
    func plan(folder: String, for workload: Workload) throws -> ServerPlan
    /// Greets on a new connection and waits for the server's answer.
    func open(_ link: LoadLink, workload: Workload, as role: LinkRole) throws
    /// Creates what the workload needs, once for each server.
    func prepare(_ link: LoadLink, workload: Workload) throws
    /// Subscribes to keys or patterns. Returns when all subscriptions are in effect.
    func subscribe(_ link: LoadLink, to names: [String], _ workload: Workload) throws
    /// Subscribes as the workload says. If `answering`, as an observer that acknowledges or answers every
    /// message.
    func observe(_ link: LoadLink, _ workload: Workload, answering: Bool) throws
    /// The answer of such an observer to a line; nil if the line needs no answer.
    func answer(to line: ArraySlice<UInt8>) -> [UInt8]?
    func appendWrite(_ message: Message, to bytes: inout [UInt8])
    /// Requests one answer for everything before it, from systems whose writes have none.
    func appendBatchEnd(to bytes: inout [UInt8])
    /// How an observer recognizes one delivery of a message.
    func deliveryMark(_ workload: Workload) -> Mark
    /// How a publisher recognizes the answer to a whole batch.
    func batchMark(_ workload: Workload) -> Mark
    /// Makes one request on a new connection and waits for its answer.
    func firstReply(_ link: LoadLink) throws
}

extension Dialect {
    var isVariant: Bool { false }
    var isEqualPeer: Bool { false }
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
    /// The elements in pieces of 500, which one request may contain.
    var pieces: [ArraySlice<Element>] {
        stride(from: 0, to: count, by: 500).map { self[$0..<Swift.min($0 + 500, count)] }
    }
}
