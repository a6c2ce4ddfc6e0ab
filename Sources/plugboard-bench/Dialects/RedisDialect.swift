// Redis over its Unix socket, in RESP 2. A publisher that waits for nothing turns
// replies off, as a client in a hurry can, and asks for one at the end of a batch.

/// `redis-server`, with SET and PUBLISH or with PUBLISH alone.
struct RedisDialect: Dialect {
    private static let subscriptionsPerExchange = 500
    private static let linesPerSubscription = 6
    let work: PeerWork
    let server = "redis"
    let programName: String? = "redis-server"
    /// At most 16 KiB.
    let readsOncePerTurn = true

    var name: String { work == .keepAndTell ? "redis SET+PUBLISH" : "redis PUBLISH" }
    var summary: String {
        work == .keepAndTell ? "keeps the value, tells the observers" : "tells the observers, keeps nothing"
    }
    var isVariant: Bool { work == .keepAndTell }

    func supports(_ workload: Workload) -> Bool {
        workload.isForPeers && (work == .keepAndTell || workload.keeping == .nothing)
    }

    func plan(folder: String, for workload: Workload) -> ServerPlan? {
        guard let program = programName.flatMap(Programs.find) else { return nil }
        let path = folder + "/redis.sock"
        let keeping =
            workload.keeping == .durable
            ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"]
        let arguments =
            keeping + [
                "--port", "0", "--unixsocket", path, "--save", "", "--maxclients", "15000",
                "--client-output-buffer-limit", "pubsub", "0", "0", "0", "--dir", folder, "--daemonize", "no",
                "--loglevel", "warning",
            ]
        return ServerPlan(program: program, arguments: arguments, endpoint: .unix(path))
    }

    func open(_ link: Link, workload: Workload, as role: LinkRole) throws {
        try firstReply(link)
        if case .publisher = role, !workload.isAcknowledged {
            try link.send(Self.command("CLIENT", "REPLY", "OFF"))
        }
    }

    func subscribe(_ link: Link, workload: Workload) throws {
        let verb = workload.interest == .keys ? "SUBSCRIBE" : "PSUBSCRIBE"
        for some in PatternSpelling.redis.subscriptions(of: workload).pieces(
            of: Self.subscriptionsPerExchange
        ) {
            try link.send(some.flatMap { Self.command(verb, $0) })
            try link.receive(lines: some.count * Self.linesPerSubscription)
        }
    }

    func subscribe(_ link: Link, key: [String]) throws {
        try link.send(Self.command("SUBSCRIBE", PatternSpelling.redis.text(key)))
        try link.receive(lines: Self.linesPerSubscription)
    }

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        let key = PatternSpelling.redis.text(message.key)
        if work == .keepAndTell { Self.append("SET", key, message.value, to: &bytes) }
        Self.append("PUBLISH", key, message.value, to: &bytes)
    }

    func appendBatchEnd(to bytes: inout [UInt8]) {
        bytes += Self.command("CLIENT", "REPLY", "ON")
        bytes += Self.command("CLIENT", "REPLY", "OFF")
    }

    /// `*3 $7 message $n key $n value`, or `*4 $8 pmessage $n pattern $n key $n value`.
    func deliveryMark(_ workload: Workload) -> Mark {
        .lines(workload.interest == .keys ? 7 : 9)
    }

    func batchMark(_ workload: Workload) -> Mark {
        guard workload.isAcknowledged else { return .lines(1) }
        return .lines(workload.batch * (work == .keepAndTell ? 2 : 1))
    }

    func firstReply(_ link: Link) throws {
        try link.send(Self.command("PING"))
        let reply = try link.receive(lines: 1)
        guard reply.starts(with: "+PONG".utf8) else {
            throw BenchError.unexpected(String(decoding: reply, as: UTF8.self))
        }
    }

    private static func command(_ words: String...) -> [UInt8] {
        var bytes = Array("*\(words.count)\r\n".utf8)
        for word in words { bytes += "$\(word.utf8.count)\r\n\(word)\r\n".utf8 }
        return bytes
    }

    private static func append(_ verb: String, _ key: String, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes +=
            "*3\r\n$\(verb.utf8.count)\r\n\(verb)\r\n$\(key.utf8.count)\r\n\(key)\r\n$\(value.count)\r\n".utf8
        bytes += value
        bytes += "\r\n".utf8
    }
}
