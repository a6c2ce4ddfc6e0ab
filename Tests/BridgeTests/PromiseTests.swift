import Foundation
import PlugboardClient
import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import BridgePlugin

@Suite(
    "What the bridge's README says",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server")
)
struct PromiseTests {
    private static let prefix = "/plugboard/test"

    private func host(_ name: String, _ nodes: [String], isBridged: Bool = true) async throws -> BridgedHost {
        let share = ["--share", "s.**"]
        return try await BridgedHost(name, etcd: nodes, prefix: Self.prefix, share, isBridged: isBridged)
    }

    @Test("two hosts share a cart, line by line")
    func cart() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let folder = try TemporaryFolder()
        let lines = try Self.block(after: "## Two hosts share a cart").map {
            $0.replacingOccurrences(of: "/tmp/", with: folder.path + "/")
                .replacingOccurrences(of: "http://127.0.0.1:2379", with: etcd.clients[0])
        }
        #expect(lines.count == 10)
        var running: [TestProgram] = []
        defer { for program in running { program.kill() } }
        // The etcd of the first line listens where another may; the test has one of its own.
        for line in lines.filter({ $0.hasSuffix(" &") }).dropFirst() {
            running.append(try Self.run(String(line.dropLast(2))))
        }
        let expected = ["", #"[{"sku":"brick-2"}]"#, "", "", #""state":"up""#]
        for (line, output) in zip(lines.filter { !$0.hasSuffix(" &") }, expected) {
            try await eventually(line) {
                let program = try Self.run(line)
                try await eventually("it ends") { !program.isRunning }
                let isRight = output.isEmpty || program.output.contains(output)
                return program.status == 0 && isRight && !program.output.contains("cart.items")
            }
        }
    }

    /// The lines of the first block of shell behind a heading.
    private static func block(after heading: String) throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = root.deletingLastPathComponent().appendingPathComponent("plugins/bridge/README.md")
        let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        let start = lines.drop { $0 != heading }.drop { $0 != "```sh" }.dropFirst()
        return Array(start.prefix { $0 != "```" })
    }

    private static func run(_ line: String) throws -> TestProgram {
        let path = ["PATH": SwiftProgram.products + ":/usr/bin:/bin"]
        return try TestProgram("/bin/sh", ["-c", "exec " + line], environment: path)
    }

    @Test("a value that is too large for etcd isn't sent, and is counted and told; what follows is sent")
    func tooLarge() async throws {
        let etcd = try EtcdCluster(1, ["--max-request-bytes", "20000"])
        try await etcd.ready()
        let (a, b) = (try await host("a", etcd.clients), try await host("b", etcd.clients))
        try await a.bus.batch { batch in
            try batch.publish("s.large", JSON.string(String(repeating: "x", count: 60_000)))
            try batch.publish("s.small", 1)
        }
        try await eventually("the rest is there") { try await b.values() == ["s.small": "1"] }
        try await eventually("it is counted") { try await a.status()?["refused"]?.integer == 1 }
        #expect(a.words.contains("s.large: etcd doesn't take it, because it is too large"))
        try await a.bus.publish("s.large", 2)
        try await eventually("it is there") { try await b.values() == ["s.large": "2", "s.small": "1"] }
    }

    @Test("each write that lost is emitted, and the last hundred are kept")
    func conflicts() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let a = try await host("a", etcd.clients)
        let count = BridgeLimits.conflictsMax + 1
        try await a.bus.batch { batch in
            for number in 0..<count { try batch.publish("s.k\(number)", number) }
        }
        try await eventually("all are sent") { try await a.status()?["sent"]?.integer == count }
        let b = try await host("b", etcd.clients, isBridged: false)
        for number in 0..<count { try await b.bus.publish("s.k\(number)", "mine") }
        let emitted = Mutex<[String]>([])
        let observation = try await b.bus.subscribe("bridge.bridge.conflict") { event in
            if let value = event.value, event.kind == .emit { emitted.withLock { $0.append(value.text) } }
        }
        defer { observation.dispose() }
        try b.startBridge()
        try await eventually("all are emitted") { emitted.withLock { $0.count } == count }
        #expect(emitted.withLock { $0 }.allSatisfy { $0.contains(#""value":"mine""#) })
        #expect(try await b.conflicts().count == BridgeLimits.conflictsMax)
        try await eventually("they are counted") { try await b.status()?["conflicts"]?.integer == count }
    }

    /// Greets one client, and ends when that asks for keys.
    private static let dyingBroker = """
        import json, os, socket, sys
        server = socket.socket(socket.AF_UNIX)
        server.bind(sys.argv[1])
        os.chmod(sys.argv[1], 0o600)
        server.listen()
        client = server.accept()[0]
        hello = {"event": "hello", "broker": "plugboard", "version": "1", "protocol": 1, "client": 1}
        hello |= {"epoch": "0123456789abcdef", "revision": 0, "limits": {}, "features": []}
        client.sendall(json.dumps(hello).encode() + b"\\n")
        for line in client.makefile():
            request = json.loads(line)
            if request["op"] == "keys": break
            reply = {"ok": request["op"], "client": 1, "name": "bridge", "revision": 0}
            if "id" in request: reply["id"] = request["id"]
            client.sendall(json.dumps(reply).encode() + b"\\n")
        os.unlink(sys.argv[1])
        """

    @Test(
        "a broker that ends while the bridge begins is waited for",
        .enabled(if: StallingProxy.isPossible, "the broker needs python3")
    )
    func dyingBroker() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let folder = try TemporaryFolder()
        let dying = try TestProgram("/usr/bin/python3", ["-c", Self.dyingBroker, folder.socket])
        try await eventually("it listens") { FileManager.default.fileExists(atPath: folder.socket) }
        let arguments = ["--socket", folder.socket, "--etcd", etcd.clients[0], "--share", "s.**"]
        let bridge = try TestProgram("bridge", arguments)
        defer { bridge.kill() }
        try await eventually("the broker has ended") { !dying.isRunning }
        let broker = try Self.run("plugboard broker --memory --socket \(folder.socket)")
        defer { broker.kill() }
        try await eventually("it is up") { bridge.output.contains("up: in step") }
    }

    @Test("a node that is gone is passed over, and the status has what it should")
    func nodes() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let a = try await host("a", ["http://127.0.0.1:1"] + etcd.clients)
        try await a.untilUp()
        let status = try #require(try await a.status())
        #expect(status["etcd"]?.string == etcd.clients[0])
        #expect(status["lag"]?["revisions"]?.integer == 0 && status["lag"]?["milliseconds"]?.integer == 0)
        for name in ["owed", "sent", "applied", "conflicts", "refused", "folded", "unread", "split"] {
            #expect(status[name]?.integer == 0, "\(name)")
        }
        #expect(status["since"]?.string?.hasSuffix("Z") == true && status["why"] == nil)
        #expect(status["patterns"] == JSON.array([.string("s.**")]))
    }
}
