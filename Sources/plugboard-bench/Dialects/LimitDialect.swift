// The limit: a server of this program that only copies bytes. The first line of a connection tells its
// role: `P` and the bytes of a batch for a publisher, `O` for an observer, `R` for a connection that gets
// nothing.

/// The server `plugboard-bench limit`.
struct LimitDialect: Dialect {
    let programs: Programs
    let name = "limit"
    let server = "limit"
    let readsOncePerTurn = true
    let summary = "copies bytes, understands nothing"

    /// It copies the broker's lines, so that both move the same bytes.
    private var lines: PlugboardDialect { PlugboardDialect(programs: programs) }

    init(programs: Programs) {
        self.programs = programs
    }

    func supports(_ workload: Workload) -> Bool {
        workload.deliveriesPerObserver == 1 && workload.isForPeers && !workload.needsValues
            && workload.mixed == nil
            && workload.isAcknowledged == (workload.keeping == .durable)
    }

    func plan(folder: String, for workload: Workload) -> ServerPlan {
        let path = folder + "/limit.sock"
        let kept = workload.keeping == .durable ? [folder + "/kept"] : []
        return ServerPlan(program: programs.bench, arguments: ["limit", path] + kept, endpoint: .unix(path))
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

    /// The bytes of a batch; 0 if no publisher waits for answers. All batches have the same length,
    /// because all keys and values have.
    private func batchBytes(_ workload: Workload) -> Int {
        guard workload.measure == .rate else { return 0 }
        let oneKey = workload.with { $0.keys = $0.publishers }
        let script = Script(oneKey, publisher: 0, dialect: lines)
        return script.batch(0).count
    }
}
