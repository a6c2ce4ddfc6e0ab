// This project's own broker, over its own protocol.

import PlugboardPosix
import PlugboardWire

/// `plugboard broker`.
struct PlugboardDialect: Dialect {
    private static let subscriptionsPerExchange = 500
    /// The `plugboard` program.
    let program: String
    /// Where a trace of the broker's allocations goes.
    var allocationLog: String?
    let name = "plugboard"
    let server = "plugboard"
    let readsOncePerTurn = true
    let summary = "keeps the value, tells the observers"

    func supports(_ workload: Workload) -> Bool { true }

    func plan(folder: String) -> ServerPlan? {
        let path = folder + "/bus.sock"
        let command = allocationLog == nil ? "broker" : "bench-traced"
        return ServerPlan(
            program: program,
            arguments: [command, "--socket", path],
            endpoint: .unix(path),
            environment: allocationLog.map { AllocationTrace.environment(log: $0) } ?? []
        )
    }

    func open(_ link: Link, workload: Workload, as role: LinkRole) throws {
        try link.receive(lines: 1)
    }

    func subscribe(_ link: Link, workload: Workload) throws {
        let patterns = PatternSpelling.plugboard.subscriptions(of: workload)
        for some in patterns.pieces(of: Self.subscriptionsPerExchange) {
            try link.send(some.map { Self.request($0, workload.telling) }.joined())
            let replies = try link.receive(lines: some.count)
            guard !String(decoding: replies, as: UTF8.self).contains("\"error\"") else {
                throw BenchError.unexpected(String(decoding: replies.prefix(200), as: UTF8.self))
            }
        }
    }

    func subscribe(_ link: Link, key: [String]) throws {
        try link.send(Self.request(key.joined(separator: "."), .values))
        try link.receive(lines: 1)
    }

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        bytes += "{\"op\":\"publish\",".utf8
        if message.wantsReply { bytes += "\"id\":\(message.number + 1),".utf8 }
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

    private static func request(_ pattern: String, _ telling: Workload.Telling) -> String {
        let options =
            switch telling {
            case .values: ""
            case .keysOnly: ",\"values\":false"
            case .oldAndNew: ",\"old\":true"
            }
        return "{\"op\":\"subscribe\",\"key\":\"\(pattern)\",\"initial\":false\(options)}\n"
    }
}
