// Some hosts and an etcd, in one world without a network: a seed decides what happens next. At the end
// everything works, and the checks compare what is left with every write that was ever answered.

import PlugboardClient
import TestSupport

@testable import BridgePlugin

struct MirrorSimulation {
    /// A write that a client on a host's bus made and got an answer for.
    struct Answered {
        let host: Int
        let key: String
        let revision: Int
        let value: JSON?
        /// What of etcd the bus had then.
        let etcd: Int
    }

    private var random: SeededRandom
    private(set) var etcd = SimulatedEtcd()
    private(set) var hosts: [SimulatedHost]
    private(set) var answered: [Answered] = []
    private var number = 0
    private let keys: [String]
    /// Prints each step.
    var isTold = false

    init(
        seed: Int,
        hosts count: Int = 3,
        isUnguarded: Bool = false,
        isForgetful: Bool = false,
        isPartless: Bool = false
    ) {
        random = SeededRandom(seed)
        keys = (0..<(1 + seed % 5)).map { "s.k\($0)" }
        hosts = (0..<count).map { SimulatedHost(name: "h\($0)", sharing: Sharing(share: ["s.**"])) }
        for index in hosts.indices {
            hosts[index].bus.isUnguarded = isUnguarded
            hosts[index].isForgetful = isForgetful
            hosts[index].isPartless = isPartless
        }
        for index in hosts.indices where random.oneIn(2) { hosts[index].begin(&etcd, &random) }
    }

    mutating func run(steps: Int = 400) {
        for _ in 0..<steps { step() }
        calmDown()
        if isTold {
            for host in hosts {
                print(
                    "lost on \(host.name): \(host.bus.lost.map { "\($0.key) \($0.revision) \($0.value?.text ?? "-")" })"
                )
            }
        }
    }

    private mutating func step() {
        let index = random.below(hosts.count)
        let kind = random.below(48)
        defer { if isTold { tell(kind, index) } }
        switch kind {
        case 0: hosts[index].kill()
        case 1, 2: if hosts[index].mirror == nil { hosts[index].begin(&etcd, &random) }
        case 3: if random.oneIn(4) { etcd.compact(at: etcd.revision - random.below(6)) }
        case 4: hosts[index].remember()
        case 5...11: write(on: index)
        case 12...18: hosts[index].listen(&random)
        case 40: if let lease = hosts[index].lease { etcd.end(lease) }
        case 41, 42: if hosts[index].mirror != nil { hosts[index].keepLease(&etcd) }
        case 47: hosts[index].revive(&random)
        case 43, 44: hosts[index].endReading()
        case 45, 46: hosts[index].beginReading()
        case 19...24: hosts[index].send(&etcd)
        case 25...29: hosts[index].arrive(&etcd, &random)
        case 30...33: hosts[index].hear()
        default: hosts[index].follow(&etcd, &random)
        }
    }

    private func tell(_ kind: Int, _ index: Int) {
        let host = hosts[index]
        let values = host.bus.values.mapValues { "\($0.json.text)@\($0.revision)\($0.by)" }
        let state = host.mirror.map { mirror in
            "cursor \(mirror.cursor) barrier \(mirror.barrier) \(mirror.keys.mapValues { "e\($0.etcd) r\($0.revision)\($0.isOwed ? " owed" : "")" })"
        }
        print(
            "\(kind) \(host.name) bus \(values) \(state ?? "dead") etcd \(etcd.revision) \(etcd.entries.mapValues { "\($0.envelope.value.text)@\($0.revision)" }) requests \(host.requests.map(\.transaction.writes))"
        )
    }

    /// A client writes one key, or a batch.
    private mutating func write(on index: Int) {
        let chosen = keys.shuffled(using: &random).prefix(random.oneIn(4) ? 3 : 1)
        var changes: [SimulatedBus.Change] = []
        for key in chosen {
            number += 1
            let isDelete = random.oneIn(4) && hosts[index].bus.values[key] != nil
            // Few different values, so that hosts write the same ones.
            let value = random.oneIn(5) ? JSON.integer(number % 3) : JSON.integer(1_000 + number)
            let isBound = !isDelete && random.oneIn(4)
            changes.append(SimulatedBus.Change(key: key, value: isDelete ? nil : value, isBound: isBound))
        }
        guard let revision = hosts[index].bus.write(changes, by: "client") else { return }
        let etcd = hosts[index].mirror?.cursor ?? hosts[index].bus.cursor?.etcd ?? 0
        for change in changes {
            // A comparison that isn't complete has brought later values than the cursor says.
            let deleted = change.value == nil ? hosts[index].seen[change.key] ?? 0 : 0
            answered.append(
                Answered(
                    host: index,
                    key: change.key,
                    revision: revision,
                    value: change.value,
                    etcd: max(etcd, deleted)
                )
            )
        }
    }

    /// From here on nothing is lost any more, until nothing is left to do.
    private mutating func calmDown() {
        for index in hosts.indices where hosts[index].mirror == nil { hosts[index].begin(&etcd, &random) }
        for _ in 0..<2_000 {
            for index in hosts.indices {
                hosts[index].keepLease(&etcd)
                hosts[index].beginReading()
                hosts[index].listen(&random)
                if hosts[index].requests.isEmpty { hosts[index].send(&etcd) }
                while !hosts[index].requests.isEmpty { hosts[index].arrive(&etcd, &random) }
                hosts[index].hear()
                hosts[index].follow(&etcd, &random)
            }
            if isTold { for index in hosts.indices { tell(-1, index) } }
            if isQuiet { return }
        }
    }

    private var isQuiet: Bool {
        hosts.allSatisfy {
            $0.isQuiet && $0.mirror?.cursor == etcd.revision && $0.mirror?.noted == $0.bus.revision
        }
    }

    // MARK: Checks

    var mistakes: [String] {
        var mistakes = isQuiet ? [] : ["it never came to rest"]
        if etcd.doubled > 0 { mistakes.append("a key stands in a transaction twice") }
        let truth = etcd.entries.mapValues(\.envelope.value)
        for host in hosts where host.bus.values.mapValues(\.json) != truth {
            mistakes.append("\(host.name) has \(host.bus.values.mapValues(\.json)), etcd \(truth)")
        }
        return mistakes + hosts.flatMap { $0.wentBack + $0.miscounted } + answered.compactMap(lost)
    }

    /// A write that is neither the last one, nor superseded by a later one, nor kept as lost.
    private func lost(_ write: Answered) -> String? {
        let host = hosts[write.host]
        if answered.contains(where: {
            $0.host == write.host && $0.key == write.key && $0.revision > write.revision
        }) {
            return nil
        }
        // A delete that was made while the bridge was away has no revision that the bridge could know.
        let isKept = host.bus.lost.contains {
            $0.key == write.key && ($0.revision == write.revision || $0.revision == 0 && write.value == nil)
        }
        if isKept { return nil }
        if etcd.entries[write.key]?.envelope.value == write.value { return nil }
        // In etcd it was made, and something came later.
        let id = WriteID(bridge: "id-\(host.name)", revision: write.revision)
        guard write.value != nil else {
            // A delete is lost if what it deleted is still there.
            guard let entry = etcd.entries[write.key], entry.revision <= write.etcd else { return nil }
            return "\(host.name): the delete of \(write.key) at revision \(write.revision) is lost"
        }
        let all = etcd.history.flatMap(\.changes).filter { $0.key == write.key }
        if all.contains(where: { $0.id == id }) { return nil }
        // Or somebody else wrote the same.
        if all.contains(where: { $0.value == write.value }) { return nil }
        return "\(host.name): \(write.key) = \(write.value?.text ?? "") of revision \(write.revision) is lost"
    }
}
