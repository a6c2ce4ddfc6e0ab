// The limit: a program of this bench that only copies bytes. A publisher's connection
// begins with `P` and how many bytes make a batch, an observer's with `O`, and one that
// is never told anything with `R`.

/// `plugboard-bench limit`.
struct LimitDialect: Dialect {
    let programs: Programs
    let name = "limit"
    let server = "limit"
    let readsOncePerTurn = true
    let summary = "copies bytes, understands nothing"

    /// The lines it copies are the broker's own, so that both move the same bytes.
    private let lines: PlugboardDialect

    init(programs: Programs) {
        self.programs = programs
        lines = PlugboardDialect(programs: programs)
    }

    func supports(_ workload: Workload) -> Bool {
        workload.deliveriesPerObserver == 1 && workload.isForPeers && !workload.isAcknowledged
    }

    func plan(folder: String, for workload: Workload) -> ServerPlan? {
        let path = folder + "/limit.sock"
        return ServerPlan(
            program: programs.bench,
            arguments: ["limit", path],
            endpoint: .unix(path)
        )
    }

    func open(_ link: Link, workload: Workload, as role: LinkRole) throws {
        switch role {
        case .publisher:
            let batchBytes = workload.measure == .rate ? Self.batchBytes(workload, lines) : 0
            try link.send("P \(batchBytes)\n")
        case .observer: try link.send("O\n")
        case .resting: try link.send("R\n")
        }
        try link.receive(lines: 1)
    }

    func subscribe(_ link: Link, workload: Workload) throws {}
    func subscribe(_ link: Link, key: [String]) throws {}

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        lines.appendWrite(message, to: &bytes)
    }

    func deliveryMark(_ workload: Workload) -> Mark { .lines(1) }
    func batchMark(_ workload: Workload) -> Mark { .bytes(1) }

    func firstReply(_ link: Link) throws {
        try link.send("O\n")
        try link.receive(lines: 1)
    }

    /// All batches have the same length, since keys and values have.
    private static func batchBytes(_ workload: Workload, _ lines: PlugboardDialect) -> Int {
        let oneKey = workload.with { $0.keys = $0.publishers }
        return Script(oneKey, publisher: 0, dialect: lines).withBatch(0, from: 0) { $0.count }
    }
}
