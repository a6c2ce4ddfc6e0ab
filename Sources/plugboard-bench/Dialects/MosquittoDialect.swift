// Mosquitto over its Unix socket, in MQTT 3.1.1. Writes have quality of service 0, or 1 if they are
// answered. A batch ends with a ping. The configuration is in the server's own folder. In a row with a journal it
// writes all that it keeps to a file once a second, if something has changed.

import PlugboardPosix

/// `mosquitto`, with retained messages or with plain ones.
struct MosquittoDialect: Dialect {
    private static let observersMax = 1000
    let work: PeerWork
    let server = "mosquitto"
    let programName: String? = "mosquitto"
    let versionOption = "-h"

    var name: String { work == .keepAndTell ? "mosquitto retain" : "mosquitto publish" }
    var summary: String { work.summary }
    var isVariant: Bool { work == .keepAndTell }
    var isEqualPeer: Bool { work == .keepAndTell }

    /// A client gets a message only once if its subscriptions overlap, so rows with many matches are less
    /// work here. One message to 10,000 observers takes a good part of a second, and the server would
    /// seem to hang.
    func supports(_ workload: Workload) -> Bool {
        workload.isForPeers && workload.mixed == nil && workload.keeping != .durable
            && (work == .keepAndTell || workload.keeping == .nothing)
            && workload.deliveriesPerObserver == 1
            && workload.observers <= Self.observersMax && work.suffices(for: workload)
    }

    func plan(folder: String, for workload: Workload) throws -> ServerPlan {
        let path = folder + "/mosquitto.sock"
        let configuration = folder + "/mosquitto.conf"
        // If root starts mosquitto, it would otherwise give up its rights and could no longer enter the
        // folder.
        let text = """
            listener 0 \(path)
            user root
            allow_anonymous true
            persistence \(workload.keeping == .journal)
            persistence_location \(folder)/
            autosave_interval 1
            max_queued_messages 0
            max_queued_bytes 0
            max_inflight_messages 0
            max_connections -1
            sys_interval 0
            log_dest none

            """
        try OutputFile.write(text, to: configuration)
        let program = Programs.path("mosquitto")
        return ServerPlan(program: program, arguments: ["-c", configuration], endpoint: .unix(path))
    }

    func open(_ link: LoadLink, workload: Workload, as role: LinkRole) throws { try firstReply(link) }

    func subscribe(_ link: LoadLink, to names: [String], _ workload: Workload) throws {
        for some in names.pieces {
            let topics: [UInt8] = some.flatMap { MQTTPacket.topic($0) + [0] }
            let granted = MQTTPacket.number(1) + [UInt8](repeating: 0, count: some.count)
            let request = MQTTPacket.bytes(0x82, MQTTPacket.number(1) + topics)
            try exchange(request, for: MQTTPacket.bytes(0x90, granted), link)
        }
    }

    func appendWrite(_ message: Message, to bytes: inout [UInt8]) {
        var body = MQTTPacket.topic(message.key)
        if message.isAcknowledged { body += MQTTPacket.number(message.number % 65_535 + 1) }
        body += message.value
        let retain: UInt8 = work == .keepAndTell ? 0x01 : 0
        bytes += MQTTPacket.bytes(0x30 | retain | (message.isAcknowledged ? 0x02 : 0), body)
    }

    func appendBatchEnd(to bytes: inout [UInt8]) {
        bytes += MQTTPacket.bytes(0xC0, [])
    }

    /// A delivery is as long as the sent packet: its retain flag is cleared, not left out.
    func deliveryMark(_ workload: Workload) -> Mark {
        let body = MQTTPacket.topic(Names.key(0, of: workload)).count + workload.valueBytes
        return .bytes(MQTTPacket.bytes(0x30, [UInt8](repeating: 0, count: body)).count)
    }

    /// A PUBACK has 4 bytes, a PINGRESP 2.
    func batchMark(_ workload: Workload) -> Mark {
        .bytes(workload.isAcknowledged ? workload.batch * 4 : 2)
    }

    func firstReply(_ link: LoadLink) throws {
        let cleanSession: UInt8 = 0x02
        let body = MQTTPacket.text("MQTT") + [4, cleanSession, 0, 0] + MQTTPacket.text("")
        try exchange(MQTTPacket.bytes(0x10, body), for: [0x20, 2, 0, 0], link)
    }

    /// Sends a packet and waits for `expected`. Any other answer is a refusal.
    private func exchange(_ request: [UInt8], for expected: [UInt8], _ link: LoadLink) throws {
        try link.send(request)
        let reply = try link.receive { $0.count >= expected.count }
        guard reply == expected else { throw BenchError.unexpected("a packet \(reply.prefix(16))") }
    }
}

/// The control packets of MQTT that the bench needs.
private enum MQTTPacket {
    /// A packet: the kind, the length with seven bits in each byte, and the body.
    static func bytes(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        var header = [kind]
        var length = body.count
        repeat {
            let more: UInt8 = length > 127 ? 0x80 : 0
            header.append(UInt8(length % 128) | more)
            length /= 128
        } while length > 0
        return header + body
    }

    /// A number in two bytes, the high one first.
    static func number(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
    }

    /// A key or pattern as MQTT spells it.
    static func topic(_ name: String) -> [UInt8] {
        text(String(name.map { $0 == "." ? "/" : $0 == "*" ? "+" : $0 }))
    }

    /// A string with its length before it.
    static func text(_ text: String) -> [UInt8] {
        number(text.utf8.count) + text.utf8
    }
}
