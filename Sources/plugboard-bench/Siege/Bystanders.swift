// Two clients that do nothing special: one publishes and one calls, and each waits for its reply before
// it goes on. A third connection answers the calls. What they wait is what an attack costs others. One
// thread serves all three, so they cost little themselves.

import PlugboardPosix

/// The waits of one bystander in some time.
struct Waits: Sendable {
    /// In nanoseconds, in the order in which they ended.
    private(set) var all: [UInt64] = []
    /// The most CPU that the broker used during one wait: no step that others waited for took more.
    private(set) var cpuNanosecondsMost: UInt64 = 0
    /// Whether the longest wait wasn't over when the time was.
    private(set) var isEndless = false

    mutating func append(_ nanoseconds: UInt64, cpu: UInt64, isOver: Bool) {
        isEndless = !isOver && all.allSatisfy { $0 < nanoseconds }
        all.append(nanoseconds)
        cpuNanosecondsMost = max(cpuNanosecondsMost, cpu)
    }

    var p50: Double { milliseconds(at: 0.5) }
    var p99: Double { milliseconds(at: 0.99) }
    var longest: Double { milliseconds(at: 1) }

    private func milliseconds(at part: Double) -> Double {
        Figure.quantile(part, ofSorted: all.sorted().map { Double($0) / 1e6 })
    }
}

/// The two bystanders, and the connection that serves one of them. Only one thread uses it.
final class Bystanders {
    /// How long a bystander rests between a reply and its next request.
    private static let restNanoseconds: UInt64 = 1_000_000
    /// What they do, in the order of their waits.
    static let names = ["publishes", "calls"]
    private static let requests = [
        #"{"op":"publish","id":1,"key":"bystander.news","value":1}"#,
        #"{"op":"call","id":1,"key":"bystander.call","value":1,"timeout":60000}"#,
    ]
    private let dialect: PlugboardDialect
    private let pid: Int32
    private let links: [LoadLink]
    private let server: LoadLink
    private let poller: any Poller
    private var sent: [(when: UInt64, cpu: UInt64)?] = [nil, nil]
    private var due: [UInt64] = [0, 0]
    private var waits = [Waits(), Waits()]

    init(_ broker: MeasuredServer, _ dialect: PlugboardDialect) throws {
        self.dialect = dialect
        pid = broker.pid
        links = try Self.requests.map { _ in try broker.connectWhenReady() }
        server = try broker.connectWhenReady()
        for link in links + [server] { try link.receive(lines: 1) }
        _ = try server.ask("serve bystander.call\n", lines: 1)
        poller = try PollerKind.standard.make()
        for (token, link) in (links + [server]).enumerated() {
            try poller.add(link.fd, token: UInt64(token), interest: .read)
        }
    }

    /// Goes on until `isOver`, which is asked at least once in a millisecond or so.
    func watch(until isOver: () throws -> Bool) throws {
        while try !isOver() {
            let now = MonotonicClock.nanoseconds()
            for index in links.indices where sent[index] == nil && due[index] <= now { try send(index) }
            var ready: [Int] = []
            try poller.wait(milliseconds: 1) { ready.append(Int($0.token)) }
            for token in ready { try token < links.count ? receive(token) : serve() }
        }
    }

    /// Whether each has been answered since that moment.
    func areAnswered(since moment: UInt64) -> Bool {
        due.allSatisfy { $0 >= moment + Self.restNanoseconds }
    }

    /// Returns the waits so far, also those that aren't over, and begins anew.
    func take() throws -> [Waits] {
        for index in links.indices where sent[index] != nil { try note(index, isOver: false) }
        defer { waits = [Waits(), Waits()] }
        return waits
    }

    private func send(_ index: Int) throws {
        sent[index] = (MonotonicClock.nanoseconds(), try ProcessUsage.cpuNanoseconds(of: pid))
        try links[index].send(Self.requests[index] + "\n")
    }

    private func receive(_ index: Int) throws {
        let reply = try links[index].receive(lines: 1)
        try note(index, isOver: true)
        sent[index] = nil
        due[index] = MonotonicClock.nanoseconds() + Self.restNanoseconds
        guard reply.starts(with: "{\"ok\"".utf8) else {
            throw BenchError.unexpected(String(decoding: reply.prefix(200), as: UTF8.self))
        }
    }

    private func note(_ index: Int, isOver: Bool) throws {
        guard let (when, cpu) = sent[index] else { return }
        let used = try ProcessUsage.cpuNanoseconds(of: pid) - cpu
        waits[index].append(MonotonicClock.nanoseconds() - when, cpu: used, isOver: isOver)
    }

    private func serve() throws {
        for line in try server.receive(lines: 1).split(separator: 0x0A) {
            if let answer = dialect.answer(to: line) { try server.send(answer) }
        }
    }
}
