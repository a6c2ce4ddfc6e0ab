// This project's own broker, over its own protocol.

import PlugboardPosix
import PlugboardWire

/// `plugboard broker`.
struct PlugboardDialect: Dialect {
    static let plainName = "without"
    private static let subscriptionsPerExchange = 500
    let programs: Programs
    /// Where a trace of the broker's allocations goes.
    var allocationLog: String?
    /// Leaves out the options of a row: what the same row costs without them.
    var isPlain = false
    var name: String { isPlain ? Self.plainName : "plugboard" }
    let server = "plugboard"
    let readsOncePerTurn = true
    let summary = "keeps the value, tells the observers"
    var isVariant: Bool { isPlain }

    func workload(_ workload: Workload) -> Workload { isPlain ? workload.plain : workload }
    func supports(_ workload: Workload) -> Bool { !isPlain || !workload.isPlain }

    func plan(folder: String, for workload: Workload) -> ServerPlan? {
        let path = folder + "/bus.sock"
        let isKept = self.workload(workload).keeping != .nothing
        let keeping = isKept ? ["--state", folder + "/state"] : ["--memory"]
        let isTraced = allocationLog != nil
        return ServerPlan(
            program: isTraced ? programs.bench : programs.plugboard,
            arguments: isTraced ? ["traced", path] : ["broker"] + keeping + ["--socket", path],
            endpoint: .unix(path),
            environment: allocationLog.map { AllocationTrace.environment(log: $0) } ?? []
        )
    }

    func open(_ link: Link, workload: Workload, as role: LinkRole) throws {
        try link.receive(lines: 1)
    }

    func subscribe(_ link: Link, workload: Workload) throws {
        try subscribe(link, workload, workload.subscribing)
    }

    func subscribeAnswering(_ link: Link, workload: Workload) throws {
        guard workload.operation == .call else {
            return try subscribe(link, workload, workload.acknowledging ?? workload.subscribing)
        }
        let key = Names.key(0, of: workload).joined(separator: ".")
        try exchange("{\"op\":\"serve\",\"key\":\"\(key)\"}\n", lines: 1, link)
    }

    func answer(to line: ArraySlice<UInt8>) -> [UInt8]? { BrokerAnswer.bytes(to: line) }

    private func subscribe(_ link: Link, _ workload: Workload, _ members: String) throws {
        let patterns = PatternSpelling.plugboard.subscriptions(of: workload)
        for some in patterns.pieces(of: Self.subscriptionsPerExchange) {
            try exchange(some.map { Self.request($0, members) }.joined(), lines: some.count, link)
        }
    }

    private func exchange(_ requests: String, lines: Int, _ link: Link) throws {
        try link.send(requests)
        let replies = try link.receive(lines: lines)
        guard !String(decoding: replies, as: UTF8.self).contains("\"error\"") else {
            throw BenchError.unexpected(String(decoding: replies.prefix(200), as: UTF8.self))
        }
    }

    func subscribe(_ link: Link, key: [String]) throws {
        try link.send(Self.request(key.joined(separator: "."), ""))
        try link.receive(lines: 1)
    }

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        bytes += "{\"op\":\"\(message.operation == .call ? "call" : "publish")\",".utf8
        if message.wantsReply { bytes += "\"id\":\(message.number + 1),".utf8 }
        if !message.members.isEmpty { bytes += "\(message.members),".utf8 }
        bytes += "\"key\":\"\(message.key.joined(separator: "."))\",\"value\":".utf8
        bytes += message.value
        bytes += "}\n".utf8
    }

    func deliveryMark(_ workload: Workload) -> Mark { .lines(1) }

    func batchMark(_ workload: Workload) -> Mark {
        .lines(workload.isAcknowledged ? workload.batch : 1)
    }

    func firstReply(_ link: Link) throws {
        try link.send("{\"op\":\"sync\"}\n")
        try link.receive(lines: 2)
    }

    private static func request(_ pattern: String, _ members: String) -> String {
        let further = members.isEmpty ? "" : ",\(members)"
        return "{\"op\":\"subscribe\",\"key\":\"\(pattern)\",\"initial\":false\(further)}\n"
    }
}
