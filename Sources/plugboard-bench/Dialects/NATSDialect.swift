// NATS over loopback TCP, because it has no Unix socket. It keeps values in a key-value bucket of
// JetStream: in memory or, if a row keeps something, in files, which the server syncs every two minutes. Observers
// subscribe to the bucket's subjects. That costs the server less than a consumer for each observer.

import PlugboardPosix

/// `nats-server`, with a key-value bucket or with plain publishing.
struct NATSDialect: Dialect {
    let work: PeerWork
    let server = "nats"
    let programName: String? = "nats-server"

    var name: String { work == .keepAndTell ? "nats KV" : "nats publish" }
    var summary: String { work.summary + " (TCP)" }
    var isVariant: Bool { work == .keepAndTell }
    var isEqualPeer: Bool { work == .keepAndTell }

    /// Without JetStream, writes are never answered.
    func supports(_ workload: Workload) -> Bool {
        workload.isForPeers
            && (work == .keepAndTell || (!workload.isAcknowledged && workload.keeping == .nothing))
            && work.suffices(for: workload)
    }

    func plan(folder: String, for workload: Workload) throws -> ServerPlan {
        let port = try LoopbackSocket.freePort()
        let configuration = folder + "/nats.conf"
        let store = "store_dir: \"\(folder)/jetstream\", max_memory_store: 4GB, max_file_store: 1GB"
        let text = """
            host: "127.0.0.1"
            port: \(port)
            log_file: "/dev/null"
            max_connections: 15000
            max_payload: 1MB
            max_pending: 512MB
            write_deadline: "60s"
            ping_interval: "1h"
            \(work == .keepAndTell ? "jetstream { \(store) }" : "")

            """
        try OutputFile.write(text, to: configuration)
        return ServerPlan(
            program: Programs.path("nats-server"),
            arguments: ["--config", configuration],
            endpoint: .tcp(port)
        )
    }

    func open(_ link: LoadLink, workload: Workload, as role: LinkRole) throws {
        try firstReply(link)
        if case .publisher(let number) = role, work == .keepAndTell {
            try link.send("SUB \(Self.inbox(number)) 1\r\n")
        }
    }

    func prepare(_ link: LoadLink, workload: Workload) throws {
        guard work == .keepAndTell else { return }
        let storage = workload.keeping != .nothing ? "file" : "memory"
        let bucket = """
            {"name":"KV_bench","subjects":["$KV.bench.>"],"storage":"\(storage)","retention":"limits",\
            "max_msgs_per_subject":1,"discard":"new","num_replicas":1,"max_msgs":-1,"max_bytes":-1,\
            "max_age":0,"max_consumers":-1,"allow_rollup_hdrs":true,"deny_delete":true,"allow_direct":true}
            """
        let inbox = "_INBOX.made"
        let publish = "PUB $JS.API.STREAM.CREATE.KV_bench \(inbox) \(bucket.utf8.count)\r\n\(bucket)\r\n"
        let reply = try link.ask("SUB \(inbox) 1\r\n" + publish, lines: 2)
        guard !reply.contains("\"error\"") else { throw BenchError.unexpected(reply) }
    }

    func subscribe(_ link: LoadLink, to names: [String], _ workload: Workload) throws {
        let lines = names.enumerated().map { "SUB \(prefix)\($1) \($0 + 1)\r\n" }
        for some in lines.pieces { _ = try link.ask(some.joined() + "PING\r\n", lines: 1) }
    }

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        let reply = message.wantsReply && work == .keepAndTell ? Self.inbox(message.publisher) + " " : ""
        bytes += "PUB \(prefix)\(message.key) \(reply)\(message.value.count)\r\n".utf8
        bytes += message.value + "\r\n".utf8
    }

    /// A bucket answers the last write of a batch anyway.
    func appendBatchEnd(to bytes: inout [UInt8]) {
        if work == .tell { bytes += "PING\r\n".utf8 }
    }

    /// `MSG subject sid bytes`, then the value.
    func deliveryMark(_ workload: Workload) -> Mark { .lines(2) }

    func batchMark(_ workload: Workload) -> Mark {
        guard work == .keepAndTell else { return .lines(1) }
        return .lines(workload.isAcknowledged ? workload.batch * 2 : 2)
    }

    func firstReply(_ link: LoadLink) throws {
        try link.receive(lines: 1)
        let greeting = "CONNECT {\"verbose\":false,\"pedantic\":false,\"protocol\":1}\r\nPING\r\n"
        let reply = try link.ask(greeting, lines: 1)
        guard reply.hasPrefix("PONG") else { throw BenchError.unexpected(reply) }
    }

    /// The subject at which a publisher gets its answers.
    private static func inbox(_ publisher: Int) -> String { "_INBOX.bench\(publisher)" }

    private var prefix: String { work == .keepAndTell ? "$KV.bench." : "" }
}
