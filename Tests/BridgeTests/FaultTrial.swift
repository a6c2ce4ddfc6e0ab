// One run: three hosts write at random while bridges, brokers, nodes and network paths fail, as a seed
// decides. Then all is well again, and the run says what is wrong with what is left.

import Foundation
import PlugboardClient
import Synchronization
import TestSupport

@testable import BridgePlugin

/// A write that a client got an answer for.
struct AnsweredWrite: Sendable {
    let host: Int
    let key: String
    let revision: Int
    /// Nil for a delete. All values are different.
    let value: String?
}

struct FaultTrial {
    let etcd: EtcdCluster
    let hosts: [BridgedHost]
    let proxies: [StallingProxy]
    let store: EtcdStore
    private let first: Int
    private var random: SeededRandom

    init(seed: Int, etcd: EtcdCluster) async throws {
        self.etcd = etcd
        random = SeededRandom(seed)
        let prefix = "/plugboard/trial-\(seed)"
        store = etcd.store(prefix + "/")
        first = try await store.find(store.prefix.own("x")).revision
        var hosts: [BridgedHost] = []
        var proxies: [StallingProxy] = []
        for index in 0..<3 {
            if StallingProxy.isPossible { proxies.append(try StallingProxy(to: etcd.clients)) }
            let nodes = StallingProxy.isPossible ? proxies[index].nodes : etcd.clients
            hosts.append(
                try await BridgedHost("h\(index)", etcd: nodes, prefix: prefix, ["--share", "s.**"]))
        }
        (self.hosts, self.proxies) = (hosts, proxies)
    }

    /// Returns what is wrong, and how long it took until all agreed.
    mutating func run(faults: Int, milliseconds: Int) async throws -> (mistakes: [String], settled: Duration)
    {
        let end = EndOfTrial()
        let writers = hosts.indices.map {
            Writer(host: $0, bus: hosts[$0].bus, seed: Int(random.next() % 1_000_000))
        }
        let watchers = hosts.indices.map { Watcher(hosts[$0].bus) }
        var all: [AnsweredWrite] = []
        try await withThrowingTaskGroup(of: [AnsweredWrite].self) { group in
            for writer in writers { group.addTask { await writer.run(until: end) } }
            try await Task.sleep(for: .milliseconds(200))
            for _ in 0..<faults { try await fail(upTo: milliseconds) }
            end.hasCome.store(true, ordering: .releasing)
            for try await answered in group { all += answered }
        }
        let start = ContinuousClock.now
        let settled: Duration
        do {
            try await eventually("all agree") {
                try await Task.sleep(for: .milliseconds(50))
                return try await agree()
            }
            settled = start.duration(to: .now)
        } catch {
            return (["they never agree: \(try await difference())"], .seconds(60))
        }
        let history = try await history()
        var mistakes = try await lost(all, history)
        for (index, watcher) in watchers.enumerated() { mistakes += watcher.wentBack(history, "h\(index)") }
        return (mistakes, settled)
    }

    // MARK: Faults

    private mutating func fail(upTo milliseconds: Int) async throws {
        let host = random.below(3)
        let kind = random.below(proxies.isEmpty ? 4 : 5)
        let pause = Duration.milliseconds(milliseconds / 4 + random.below(milliseconds))
        switch kind {
        case 0:
            hosts[host].killBridge()
            try await Task.sleep(for: pause)
            try hosts[host].startBridge()
        case 1:
            hosts[host].killBroker()
            try await Task.sleep(for: pause)
            try hosts[host].startBroker()
        case 2: try await stop([try await leader()], pause)
        case 3: try await stop([host, (host + 1) % 3], pause)
        default:
            proxies[host].stall()
            try await Task.sleep(for: pause)
            proxies[host].goOn()
        }
        try await Task.sleep(for: .milliseconds(random.below(200)))
    }

    private func stop(_ nodes: [Int], _ pause: Duration) async throws {
        for node in nodes { etcd.nodes[node].signal(SIGSTOP) }
        try await Task.sleep(for: pause)
        for node in nodes { etcd.nodes[node].signal(SIGCONT) }
    }

    private struct Status: Decodable {
        struct Header: Decodable { let member_id: String }
        let header: Header
        let leader: String?
    }

    /// The node that leads, as far as one says.
    private func leader() async throws -> Int {
        for node in etcd.clients.indices {
            let gateway = EtcdGateway(nodes: [etcd.clients[node]], user: nil)
            do {
                let status = try await gateway.ask(
                    "/v3/maintenance/status", [String: String](), as: Status.self
                )
                if status.leader == status.header.member_id { return node }
            } catch {
                continue
            }
        }
        return 0
    }

    // MARK: Checks

    private func agree() async throws -> Bool {
        let truth = try await truth()
        for host in hosts where try await host.values() != truth { return false }
        return true
    }

    private func truth() async throws -> [String: String] {
        do {
            let range = try await store.range()
            return Dictionary(uniqueKeysWithValues: range.changes.map { ($0.key, $0.value?.text ?? "") })
        } catch {
            return ["etcd": "doesn't answer"]
        }
    }

    private func difference() async throws -> String {
        var text = "etcd \(try await truth())"
        for host in hosts { text += "\n\(host.name) \(try await host.values()) \(host.words)" }
        return text
    }

    /// Everything that ever happened under the prefix.
    private func history() async throws -> [EtcdGroup] {
        let end = try await store.putOwn("end", .true)
        let watch = try await EtcdWatch.open(store.gateway, store.prefix, from: first + 1)
        defer { watch.close() }
        var groups: [EtcdGroup] = []
        for try await line in watch.lines() {
            let read = try store.gateway.read(line, as: EtcdWatchLine.self, "test")
            groups += store.groups(read.result?.events ?? [])
            if groups.last?.revision ?? 0 >= end { break }
        }
        return groups
    }

    private func lost(_ all: [AnsweredWrite], _ history: [EtcdGroup]) async throws -> [String] {
        let made = Set(history.flatMap(\.changes).compactMap { $0.value?.text })
        var mistakes: [String] = []
        for (index, host) in hosts.enumerated() {
            let kept = try await host.conflicts()
            for write in all where write.host == index {
                guard let value = write.value, !made.contains(value) else { continue }
                let isSuperseded = all.contains {
                    $0.host == index && $0.key == write.key && $0.revision > write.revision
                }
                let isKept = kept.contains { $0.key == write.key && $0.value == value }
                if !isSuperseded, !isKept { mistakes.append("h\(index): \(write) is lost") }
            }
        }
        return mistakes
    }
}

/// Tells the writers that the trial is over.
private final class EndOfTrial: Sendable {
    let hasCome = Atomic(false)
}

/// A client that writes at random.
private struct Writer: Sendable {
    let host: Int
    let bus: Bus
    let seed: Int

    func run(until end: EndOfTrial) async -> [AnsweredWrite] {
        var random = SeededRandom(seed)
        var answered: [AnsweredWrite] = []
        var number = 0
        while !end.hasCome.load(ordering: .acquiring) {
            number += 1
            do {
                answered += try await write(number, &random)
            } catch {
                // Without an answer nothing is promised. A conflict or an absent key is part of the game.
            }
            do { try await Task.sleep(for: .milliseconds(5 + random.below(25))) } catch { break }
        }
        return answered
    }

    private func write(_ number: Int, _ random: inout SeededRandom) async throws -> [AnsweredWrite] {
        let key = "s.k\(random.below(6))"
        let value = "\"h\(host)-\(number)\""
        switch random.below(10) {
        case 0, 1:
            return [AnsweredWrite(host: host, key: key, revision: try await bus.delete(key), value: nil)]
        case 2:
            let keys = (0..<3).map { "s.k\((random.below(2) + $0 * 2) % 6)" }
            let revision = try await bus.batch { batch in
                for key in keys { try batch.publish(key, JSON("\"h\(host)-\(number)-\(key)\"")) }
            }
            return keys.map {
                AnsweredWrite(host: host, key: $0, revision: revision, value: "\"h\(host)-\(number)-\($0)\"")
            }
        case 3:
            let present = try await bus.entry(key)?.revision ?? 0
            let revision = try await bus.publish(key, JSON(value), ifRevision: present)
            return [AnsweredWrite(host: host, key: key, revision: revision, value: value)]
        default:
            let revision = try await bus.publish(key, JSON(value))
            return [AnsweredWrite(host: host, key: key, revision: revision, value: value)]
        }
    }
}

/// An observer that remembers what the bridge wrote, in order.
private final class Watcher: Sendable {
    private let box = Seen()
    private let task: Task<Void, any Error>

    init(_ bus: Bus) {
        let box = box
        task = Task {
            for try await event in try await bus.subscribe("s.**") where event.kind == .update {
                guard event.by?.hasPrefix("bridge") == true, let value = event.value?.text else { continue }
                box.add(event.key, value)
            }
        }
    }

    deinit { task.cancel() }

    /// Keys that went back to an older revision of etcd.
    func wentBack(_ history: [EtcdGroup], _ host: String) -> [String] {
        var revisions: [String: Int] = [:]
        for change in history.flatMap(\.changes) {
            if let value = change.value?.text { revisions[value] = change.revision }
        }
        var newest: [String: Int] = [:]
        var mistakes: [String] = []
        for (key, value) in box.all {
            guard let revision = revisions[value] else { continue }
            if revision < newest[key] ?? 0 { mistakes.append("\(host): \(key) went back to \(value)") }
            newest[key] = max(newest[key] ?? 0, revision)
        }
        return mistakes
    }
}

private final class Seen: Sendable {
    private let events = Mutex<[(key: String, value: String)]>([])
    var all: [(key: String, value: String)] { events.withLock { $0 } }
    func add(_ key: String, _ value: String) { events.withLock { $0.append((key, value)) } }
}
