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
    private var lines: PlugboardDialect { PlugboardDialect(programs: programs) }

    init(programs: Programs) {
        self.programs = programs
    }

    func supports(_ workload: Workload) -> Bool {
        workload.deliveriesPerObserver == 1 && workload.isForPeers && !workload.isAcknowledged
    }

    func plan(folder: String, for workload: Workload) -> ServerPlan {
        let path = folder + "/limit.sock"
        return ServerPlan(program: programs.bench, arguments: ["limit", path], endpoint: .unix(path))
    }

    func open(_ link: LoadLink, workload: Workload, as role: LinkRole) throws {
        switch role {
        case .publisher: _ = try link.ask("P \(batchBytes(workload))\n", lines: 1)
        case .observer: try firstReply(link)
        case .resting: _ = try link.ask("R\n", lines: 1)
        }
    }

    func subscribe(_ link: LoadLink, to names: [String], _ workload: Workload) throws {}

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        lines.appendWrite(message, to: &bytes)
    }

    func deliveryMark(_ workload: Workload) -> Mark { .lines(1) }
    func batchMark(_ workload: Workload) -> Mark { .bytes(1) }

    func firstReply(_ link: LoadLink) throws { _ = try link.ask("O\n", lines: 1) }

    /// All batches have the same length, since keys and values have. 0 where nobody waits for them.
    private func batchBytes(_ workload: Workload) -> Int {
        guard workload.measure == .rate else { return 0 }
        let oneKey = workload.with { $0.keys = $0.publishers }
        return Script(oneKey, publisher: 0, dialect: lines).withBatch(0, from: 0) { $0.count }
    }
}
