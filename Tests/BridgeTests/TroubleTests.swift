import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

@testable import BridgePlugin

@Suite(
    "What goes wrong with etcd is told, and the bus goes on",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server")
)
struct TroubleTests {
    private static let prefix = "/plugboard/test"

    private func host(
        _ name: String, _ etcd: EtcdCluster, _ arguments: [String] = [], environment: [String: String] = [:]
    ) async throws -> BridgedHost {
        try await BridgedHost(
            name,
            etcd: etcd.clients,
            prefix: Self.prefix,
            ["--share", "s.**"] + arguments,
            environment: environment
        )
    }

    @Test("without a majority it is apart, folds what waits, and comes back by itself")
    func majority() async throws {
        let etcd = try EtcdCluster(3)
        try await etcd.ready()
        let (a, b) = (try await host("a", etcd), try await host("b", etcd))
        try await BridgedHost.untilUp(a, b)
        for node in [0, 1] { etcd.nodes[node].signal(SIGSTOP) }
        for number in 0..<5_000 { try a.bus.pipeline.publish("s.k\(number % 20)", number) }
        try await a.bus.sync()
        try await eventually("it is apart") { try await !a.isUp() }
        #expect(try await a.status()?["why"]?.string != nil)
        try await eventually("they are owed") { try await a.status()?["owed"]?.integer ?? 0 > 0 }
        for node in [0, 1] { etcd.nodes[node].signal(SIGCONT) }
        let expected = Dictionary(uniqueKeysWithValues: (0..<20).map { ("s.k\($0)", "\(4_980 + $0)") })
        try await eventually("the newest are there") { try await b.values() == expected }
        try await a.untilUp()
        // What was sent before etcd stopped counts as well.
        #expect(try await a.status()?["sent"]?.integer ?? 0 < 2_000)
    }

    @Test("a node that stops is left for another one")
    func stoppedNode() async throws {
        let etcd = try EtcdCluster(3)
        try await etcd.ready()
        let a = try await host("a", etcd)
        try await a.untilUp()
        let node = try #require(try await a.status()?["etcd"]?.string)
        let index = try #require(etcd.clients.firstIndex(of: node))
        etcd.nodes[index].signal(SIGSTOP)
        try await a.bus.publish("s.x", 1)
        var status: JSON?
        do {
            try await eventually("it is sent over another node") {
                status = try await a.status()
                return status?["sent"]?.integer == 1 && status?["etcd"]?.string != node
            }
        } catch {
            throw NeverHappened(description: "\(error), but of \(node): \(String(describing: status))")
        }
        etcd.nodes[index].signal(SIGCONT)
    }

    @Test(
        "a path that falls silent makes it apart, and it comes back by itself",
        .enabled(if: StallingProxy.isPossible, "the proxy needs python3")
    )
    func silentPath() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let proxy = try StallingProxy(to: etcd.clients)
        let a = try await BridgedHost("a", etcd: proxy.nodes, prefix: Self.prefix, ["--share", "s.**"])
        try await a.untilUp()
        proxy.stall()
        try await eventually("it is apart") { try await !a.isUp() }
        try await a.bus.publish("s.x", 1)
        proxy.goOn()
        try await eventually("it is up, and sends") {
            let status = try await a.status()
            return status?["state"]?.string == "up" && status?["sent"]?.integer == 1
        }
    }

    @Test("while etcd is away the bridge doesn't read the bus, says what is owed, and takes all of it later")
    func unread() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let (a, b) = (try await host("a", etcd), try await host("b", etcd))
        let guest = try await Bus.connect(name: "guest", path: a.socket)
        for key in ["s.kept", "s.gone", "s.changed"] { try await a.bus.publish(key, "before") }
        try await guest.publish("s.guest", "before", while: .connected)
        try await eventually("they are there") { try await b.values().count == 4 }
        etcd.nodes[0].signal(SIGSTOP)
        try await eventually("nobody reads") { try await a.bus.who("s.kept").observers.isEmpty }
        #expect(try await !a.isUp())
        try await a.bus.delete("s.gone")
        for number in 0..<100 { try await a.bus.publish("s.changed", number) }
        try await a.bus.publish("s.short", 1)
        try await a.bus.delete("s.short")
        try await a.bus.publish("s.bound", "after", while: .connected)
        guest.close()
        try await eventually("they are owed") { try await a.status()?["owed"]?.integer == 4 }
        etcd.nodes[0].signal(SIGCONT)
        let expected = ["s.kept": "\"before\"", "s.changed": "99", "s.bound": "\"after\""]
        try await eventually("both agree") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == expected && other == expected
        }
        let store = etcd.store(Self.prefix + "/")
        #expect(try await store.find(store.prefix.key("s.bound")).entry?.lease?.value ?? 0 != 0)
        #expect(try await a.bus.who("s.kept").observers.map(\.name) == ["bridge"])
        #expect(try await a.conflicts().isEmpty)
    }

    @Test("a host that was away during a compaction compares everything")
    func compaction() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let (a, b) = (try await host("a", etcd), try await host("b", etcd))
        for number in 0..<6 { try await a.bus.publish("s.k\(number)", number) }
        try await eventually("they are there") { try await b.values().count == 6 }
        try await eventually("its cursor is kept") {
            try await b.bus.entry("bridge.bridge.cursor")?.value["settled"]?.integer ?? 0 > 0
        }
        b.killBridge()
        try await a.bus.delete("s.k0")
        try await a.bus.publish("s.k1", "new")
        try await b.bus.publish("s.mine", true)
        try await b.bus.delete("s.k2")
        try await eventually("all is sent") { try await a.status()?["sent"]?.integer == 8 }
        try await etcd.compact()
        try b.startBridge()
        let expected = ["s.k1": "\"new\"", "s.k3": "3", "s.k4": "4", "s.k5": "5", "s.mine": "true"]
        try await eventually("both agree") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == expected && other == expected
        }
        #expect(b.words.contains("etcd has forgotten what happened meanwhile"))
    }

    @Test("an etcd that was replaced by an empty one is told, and gets what the buses have")
    func replaced() async throws {
        let first = try EtcdCluster()
        try await first.ready()
        let folder = try TemporaryFolder()
        let proxy = try StallingProxy(to: first.clients)
        let a = try await BridgedHost("a", etcd: proxy.nodes, prefix: Self.prefix, ["--share", "s.**"])
        try await a.bus.publish("s.x", 1)
        try await eventually("it is sent") { try await a.status()?["sent"]?.integer == 1 }
        a.killBridge()
        let second = try EtcdCluster(1, ["--initial-cluster-token", folder.path])
        try await second.ready()
        let b = try await BridgedHost("b", etcd: second.clients, prefix: Self.prefix, ["--share", "s.**"])
        try await b.bus.publish("s.y", 2)
        let other = try a.otherEtcd(second.clients)
        try await eventually("both agree") { try await b.values() == ["s.x": "1", "s.y": "2"] }
        #expect(other.output.contains("it was restored, or replaced"))
        other.kill()
    }

    @Test("a full etcd is told, the bus goes on, and what waited is sent when there is room again")
    func full() async throws {
        let etcd = try EtcdCluster(1, ["--quota-backend-bytes", "1000000"])
        try await etcd.ready()
        let (a, b) = (try await host("a", etcd), try await host("b", etcd))
        try await eventually("it is told") {
            try await a.bus.publish("s.large", JSON.string(String(repeating: "x", count: 60_000)))
            try await Task.sleep(for: .milliseconds(100))
            return try await a.status()?["why"]?.string?.contains("space") == true
        }
        #expect(a.words.contains("database space exceeded"))
        try await a.bus.publish("s.large", 2)
        try await a.bus.publish("s.small", 1)
        #expect(try await a.values() == ["s.large": "2", "s.small": "1"])
        try await etcd.compact()
        try await etcd.makeRoom()
        let expected = ["s.large": "2", "s.small": "1"]
        try await eventually("it is sent") { try await b.values() == expected }
        try await BridgedHost.untilUp(a, b)
    }

    @Test("an etcd that was restored from an older backup is told, and nothing is invented")
    func restored() async throws {
        let folder = try TemporaryFolder()
        let first = try EtcdCluster(1, data: folder("data"))
        try await first.ready()
        let a = try await host("a", first)
        try await a.bus.publish("s.x", 1)
        let early = first.store("/plugboard/test/")
        try await eventually("it is sent") { try await early.change(of: "s.x") != nil }
        try await early.putRaw("s.hand", "1")
        try await eventually("it is there") { try await a.values()["s.hand"] == "1" }
        a.killBridge()
        first.nodes[0].kill()
        try FileManager.default.copyItem(atPath: folder("data"), toPath: folder("backup"))
        let second = try EtcdCluster(1, data: folder("data"))
        try await second.ready()
        let later = try a.otherEtcd(second.clients)
        try await a.bus.publish("s.x", 2)
        try await a.bus.publish("s.hand", 2)
        try await a.bus.publish("s.y", 3)
        let store = second.store("/plugboard/test/")
        try await eventually("they are sent") { try await store.change(of: "s.y")?.value?.text == "3" }
        try await eventually("it knows so") {
            let written = try await a.bus.entry("s.y")?.revision ?? 0
            return try await a.bus.entry("bridge.bridge.cursor")?.value["settled"]?.integer ?? 0 >= written
        }
        later.kill()
        second.nodes[0].kill()
        let third = try EtcdCluster(1, data: folder("backup"))
        try await third.ready()
        let b = try await host("b", third)
        let old = ["s.x": "1", "s.hand": "1"]
        try await eventually("the backup is there") { try await b.values() == old }
        let last = try a.otherEtcd(third.clients)
        // Its own later writes go over its earlier ones. Where others wrote, etcd's value counts.
        let expected = ["s.x": "2", "s.hand": "1", "s.y": "3"]
        try await eventually("both agree") {
            let (one, other) = (try await a.values(), try await b.values())
            return one == expected && other == expected
        }
        #expect(last.output.contains("it was restored, or replaced"))
        #expect(try await a.conflicts().map(\.value) == ["2"])
        last.kill()
    }

    @Test("a wrong password is told, and a right one works, also after its token has expired")
    func users() async throws {
        let etcd = try EtcdCluster(1, ["--auth-token-ttl", "2"])
        try await etcd.ready()
        try await etcd.enableUsers(password: "right")
        let wrong = try await host(
            "w", etcd, ["--user", "root"], environment: ["PLUGBOARD_BRIDGE_PASSWORD": "no"]
        )
        try await eventually("it is told") {
            try await wrong.status()?["why"]?.string?.contains("invalid user ID or password") == true
        }
        let folder = try TemporaryFolder()
        let path = try folder.write("password", "right\n")
        let a = try await host("a", etcd, ["--user", "root", "--password-file", path])
        try await a.bus.publish("s.x", 1)
        try await eventually("it is sent") { try await a.status()?["sent"]?.integer == 1 }
        try await Task.sleep(for: .seconds(4))
        try await a.bus.publish("s.x", 2)
        try await eventually("it is sent") { try await a.status()?["sent"]?.integer == 2 }
    }

    @Test("it ends at SIGTERM, whatever it waits for", arguments: Absence.allCases)
    func ending(absence: Absence) async throws {
        let listener = try SilentServer()
        let folder = try TemporaryFolder()
        // What isn't a library is none: then the search for it ends.
        for name in ["libcurl.so.4", "libcurl-gnutls.so.4"] { try folder.write(name, "no library") }
        let a = try await BridgedHost(
            "a",
            etcd: [absence == .silent ? listener.address : "http://127.0.0.1:1"],
            prefix: Self.prefix,
            ["--share", "s.**"],
            environment: absence == .libcurl ? ["LD_LIBRARY_PATH": folder.path] : [:]
        )
        try await eventually("it is told") {
            try await a.status()?["why"]?.string?.contains(absence.reason) == true
        }
        a.signalBridge(SIGTERM)
        try await eventually("it ends") { !a.isBridgeRunning }
    }

    enum Absence: CaseIterable {
        case libcurl, nobody, silent

        var reason: String {
            switch self {
            case .libcurl: "libcurl is missing"
            case .nobody: "nobody answers there"
            case .silent: "no answer in time"
            }
        }
    }

    @Test("a node whose certificate nobody knows is told")
    func certificate() async throws {
        let etcd = try EtcdCluster(1, ["--auto-tls"], scheme: "https")
        let a = try await host("a", etcd)
        try await eventually("it is told") {
            try await a.status()?["why"]?.string?.contains("isn't one that this system trusts") == true
        }
    }
}

extension EtcdCluster {
    private struct Anything: Decodable {}
    private struct Compaction: Encodable { let revision: EtcdNumber }
    private struct User: Encodable {
        let name: String
        let password: String
    }
    private struct Grant: Encodable {
        let user: String
        let role: String
    }

    /// Forgets everything that is past.
    func compact() async throws {
        let revision = try await store("/x/").find(Data("x".utf8)).revision
        let body = Compaction(revision: EtcdNumber(revision))
        _ = try await gateway().ask("/v3/kv/compaction", body, as: Anything.self)
    }

    private struct Alarms: Decodable {
        struct Alarm: Decodable { let memberID: String }
        let alarms: [Alarm]?
    }
    private struct Disarm: Encodable {
        let action = "DEACTIVATE"
        let memberID: String
        let alarm = "NOSPACE"
    }

    /// Gives back what a compaction freed, and takes the alarm back.
    func makeRoom() async throws {
        let gateway = gateway()
        _ = try await gateway.ask("/v3/maintenance/defragment", [String: String](), as: Anything.self)
        let all = try await gateway.ask("/v3/maintenance/alarm", ["action": "GET"], as: Alarms.self)
        for alarm in all.alarms ?? [] {
            let body = Disarm(memberID: alarm.memberID)
            _ = try await gateway.ask("/v3/maintenance/alarm", body, as: Anything.self)
        }
    }

    /// From now on only the user root may do anything.
    func enableUsers(password: String) async throws {
        let gateway = gateway()
        _ = try await gateway.ask(
            "/v3/auth/user/add", User(name: "root", password: password), as: Anything.self
        )
        _ = try await gateway.ask("/v3/auth/user/grant", Grant(user: "root", role: "root"), as: Anything.self)
        _ = try await gateway.ask("/v3/auth/enable", [String: String](), as: Anything.self)
    }
}

extension BridgedHost {
    /// A bridge of this bus to another etcd.
    func otherEtcd(_ nodes: [String]) throws -> TestProgram {
        try TestProgram(
            "bridge",
            [
                "--socket", socket, "--etcd", nodes.joined(separator: ","), "--prefix", "/plugboard/test",
                "--host", name, "--share", "s.**",
            ]
        )
    }
}
