// Redis over its Unix socket, in RESP 2. A publisher that doesn't wait for each write turns replies off,
// as fast clients do, and requests one reply at the end of a batch. In a row with a journal it syncs its
// append-only file once a second.

/// `redis-server`, with SET and PUBLISH or with PUBLISH alone.
struct RedisDialect: Dialect {
    private static let linesPerSubscription = 6
    let work: PeerWork
    let server = "redis"
    let programName: String? = "redis-server"
    /// A turn reads at most 16 KiB.
    let readsOncePerTurn = true

    var name: String { work == .keepAndTell ? "redis SET+PUBLISH" : "redis PUBLISH" }
    var summary: String { work.summary }
    var isVariant: Bool { work == .keepAndTell }
    var isEqualPeer: Bool { work == .keepAndTell }

    func supports(_ workload: Workload) -> Bool {
        workload.isForPeers && (work == .keepAndTell || workload.keeping == .nothing)
            && work.suffices(for: workload)
    }

    func plan(folder: String, for workload: Workload) -> ServerPlan {
        let path = folder + "/redis.sock"
        let keeping =
            switch workload.keeping {
            case .nothing: ["no"]
            case .journal: ["yes", "--appendfsync", "everysec"]
            case .durable: ["yes", "--appendfsync", "always"]
            }
        let arguments =
            ["--appendonly"] + keeping + [
                "--port", "0", "--unixsocket", path, "--save", "", "--maxclients", "15000",
                "--client-output-buffer-limit", "pubsub", "0", "0", "0", "--dir", folder, "--daemonize", "no",
                "--loglevel", "warning",
            ]
        return ServerPlan(program: Programs.path("redis-server"), arguments: arguments, endpoint: .unix(path))
    }

    func open(_ link: LoadLink, workload: Workload, as role: LinkRole) throws {
        try firstReply(link)
        if case .publisher = role, !workload.isAcknowledged {
            try link.send(Self.command("CLIENT", "REPLY", "OFF"))
        }
    }

    func subscribe(_ link: LoadLink, to names: [String], _ workload: Workload) throws {
        for some in names.pieces {
            try link.send(some.flatMap { Self.command($0.contains("*") ? "PSUBSCRIBE" : "SUBSCRIBE", $0) })
            try link.receive(lines: some.count * Self.linesPerSubscription)
        }
    }

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        let value = String(decoding: message.value, as: UTF8.self)
        if work == .keepAndTell { bytes += Self.command("SET", message.key, value) }
        bytes += Self.command("PUBLISH", message.key, value)
    }

    func appendBatchEnd(to bytes: inout [UInt8]) {
        bytes += Self.command("CLIENT", "REPLY", "ON") + Self.command("CLIENT", "REPLY", "OFF")
    }

    /// Lines: `*3 $7 message $n key $n value`, or `*4 $8 pmessage $n pattern $n key $n value`.
    func deliveryMark(_ workload: Workload) -> Mark { .lines(workload.interest == .keys ? 7 : 9) }

    func batchMark(_ workload: Workload) -> Mark {
        guard workload.isAcknowledged else { return .lines(1) }
        return .lines(workload.batch * (work == .keepAndTell ? 2 : 1))
    }

    func firstReply(_ link: LoadLink) throws {
        let reply = try link.ask("*1\r\n$4\r\nPING\r\n", lines: 1)
        guard reply.hasPrefix("+PONG") else { throw BenchError.unexpected(reply) }
    }

    private static func command(_ words: String...) -> [UInt8] {
        let parts = words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }
        return Array("*\(words.count)\r\n\(parts.joined())".utf8)
    }
}
