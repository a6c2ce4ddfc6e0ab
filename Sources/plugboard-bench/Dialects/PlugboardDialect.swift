// This project's broker and its protocol. It can also leave out the options of a row, or the journal of a row that
// has none, which the tables call *without*. The limit copies this dialect's lines.

import PlugboardPosix
import PlugboardWire

struct PlugboardDialect: Dialect {
    static let plainName = "without"
    let programs: Programs
    /// The file for the trace of the broker's allocations; nil if they aren't counted.
    var allocationLog: String?
    /// Whether it leaves out the options of a row, or its journal, to measure what they cost.
    var isPlain = false
    /// The path of the broker's policy; nil if it has none.
    var policy: String?
    /// The words of a command that runs the broker; empty if nothing does.
    var runner: [String] = []
    var name: String { isPlain ? Self.plainName : "plugboard" }
    let server = "plugboard"
    let readsOncePerTurn = true
    var summary: String { PeerWork.keepAndTell.summary }
    var isVariant: Bool { isPlain }

    func workload(_ workload: Workload) -> Workload { isPlain ? workload.plain : workload }
    func supports(_ workload: Workload) -> Bool {
        !isPlain || !workload.isPlain || (workload.isLoad && workload.keeping == .journal)
    }

    func plan(folder: String, for workload: Workload) -> ServerPlan {
        let path = folder + "/bus.sock"
        guard allocationLog == nil else {
            let environment = allocationLog.map { AllocationTrace.environment(log: $0) } ?? []
            return ServerPlan(
                program: programs.bench,
                arguments: ["traced", path],
                endpoint: .unix(path),
                environment: environment
            )
        }
        let isKept = self.workload(workload).keeping != .nothing
        let keeping = isKept ? ["--state", folder + "/state"] : ["--memory"]
        let arguments = ["broker"] + keeping + (policy.map { ["--policy", $0] } ?? []) + ["--socket", path]
        let words = runner + [programs.plugboard] + arguments
        return ServerPlan(program: words[0], arguments: Array(words.dropFirst()), endpoint: .unix(path))
    }

    func open(_ link: LoadLink, workload: Workload, as role: LinkRole) throws {
        try link.receive(lines: 1)
    }

    func observe(_ link: LoadLink, _ workload: Workload, answering: Bool) throws {
        guard workload.operation == .call, answering else {
            let members = answering ? workload.acknowledging ?? workload.subscribing : workload.subscribing
            let names = Names.subscriptions(of: workload)
            return try subscribe(link, to: names, workload.with { $0.subscribing = members })
        }
        try ask(link, "{\"op\":\"serve\",\"key\":\"\(Names.key(0, of: workload))\"}\n", answers: 1)
    }

    func subscribe(_ link: LoadLink, to names: [String], _ workload: Workload) throws {
        let members = workload.subscribing.isEmpty ? "" : "," + workload.subscribing
        let requests = names.map {
            "{\"op\":\"subscribe\",\"key\":\"\($0)\",\"initial\":false\(members)}\n"
        }
        for some in requests.pieces { try ask(link, some.joined(), answers: some.count) }
    }

    private func ask(_ link: LoadLink, _ requests: String, answers: Int) throws {
        let replies = try link.ask(requests, lines: answers)
        guard !replies.contains("\"error\"") else { throw BenchError.unexpected("\(replies.prefix(200))") }
    }

    func answer(to line: ArraySlice<UInt8>) -> [UInt8]? {
        if let call = Self.text(in: line, after: #"{"event":"call","call":""#, until: "\"") {
            return Array("{\"op\":\"return\",\"call\":\"\(call)\",\"value\":true}\n".utf8)
        }
        guard line.starts(with: #"{"event":"update","#.utf8),
            let sub = Self.text(in: line, after: #""sub":"#, until: ","),
            let revision = Self.text(in: line, after: #""revision":"#, until: ",")
        else { return nil }
        return Array("{\"op\":\"ack\",\"sub\":\(sub),\"revision\":\(revision)}\n".utf8)
    }

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        if message.isSpaced { return appendSpaced(message, to: &bytes) }
        bytes += "{\"op\":\"\(message.operation == .call ? "call" : "publish")\",".utf8
        if message.wantsReply { bytes += "\"id\":\(message.number + 1),".utf8 }
        if !message.members.isEmpty { bytes += "\(message.members),".utf8 }
        bytes += "\"key\":\"\(message.key)\",\"value\":".utf8 + message.value + "}\n".utf8
    }

    /// The same as Python writes it.
    private func appendSpaced(_ message: Message, to bytes: inout [UInt8]) {
        let id = message.wantsReply ? "\"id\": \(message.number + 1), " : ""
        bytes += "{\"op\": \"publish\", \(id)\"key\": \"\(message.key)\", \"value\": ".utf8
        bytes += message.value + "}\n".utf8
    }

    func deliveryMark(_ workload: Workload) -> Mark { .lines(1) }

    func batchMark(_ workload: Workload) -> Mark { .lines(workload.isAcknowledged ? workload.batch : 1) }

    func firstReply(_ link: LoadLink) throws { _ = try link.ask("{\"op\":\"sync\"}\n", lines: 2) }

    /// The text after the first `before`, up to the next `end`.
    private static func text(in line: ArraySlice<UInt8>, after before: String, until end: Unicode.Scalar)
        -> String?
    {
        let before = Array(before.utf8)
        guard let place = line.indices.first(where: { line[$0...].starts(with: before) }) else { return nil }
        let rest = line[(place + before.count)...]
        return rest.firstIndex(of: UInt8(ascii: end)).map { String(decoding: rest[..<$0], as: UTF8.self) }
    }
}
