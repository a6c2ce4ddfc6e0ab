// A host: a bus, and a bridge that lives, is killed and begins again. It does what the session does, one
// small step at a time, so that anything can happen in between. Requests to etcd travel: they may be carried
// out late, or more than once, and their answers may be lost.

import PlugboardClient
import TestSupport

@testable import BridgePlugin

struct SimulatedHost {
    /// A request on its way.
    struct Request {
        let transaction: EtcdTransaction
        /// The life of the bridge that sent it.
        let life: Int
    }

    let name: String
    let sharing: Sharing
    var bus = SimulatedBus()
    private(set) var mirror: Mirror?
    private var found: [EtcdChange] = []
    private var foundAt = 0
    /// How far comparisons have come.
    private var compared: [ComparedPart] = []
    private var life = 0
    private(set) var lease: Int?
    /// Requests that etcd hasn't carried out yet.
    var requests: [Request] = []
    /// Answers that the bridge hasn't got yet.
    private var answers: [(life: Int, transaction: EtcdTransaction, outcome: TransactionOutcome)] = []
    /// Each key's revision in etcd, as an observer of the bus saw it.
    private(set) var seen: [String: Int] = [:]
    private(set) var wentBack: [String] = []
    /// How often the count of owed keys was wrong.
    private(set) var miscounted: [String] = []
    /// It overlooks what was deleted while it didn't read. The checks must notice that.
    var isForgetful = false
    /// When it is killed while it compares, it doesn't remember how far it has come. The checks must notice that.
    var isPartless = false

    init(name: String, sharing: Sharing) {
        self.name = name
        self.sharing = sharing
    }

    // MARK: A life

    mutating func kill() {
        mirror = nil
        answers = []
        bus.forgetEvents()
    }

    mutating func begin(_ etcd: inout SimulatedEtcd, _ random: inout SeededRandom) {
        life += 1
        let remembered = bus.cursor
        let fence = etcd.fence()
        let past = remembered.flatMap { $0.etcd > 0 ? etcd.past(at: $0.etcd) : nil }
        let range = past ?? etcd.range()
        let comparison: Mirror.Comparison
        if past != nil {
            comparison = .past(settled: remembered?.settled ?? 0)
        } else if let remembered {
            let settled = remembered.etcd > 0 ? remembered.settled : 0
            comparison = .compacted(
                Mirror.Memory(
                    etcd: remembered.etcd,
                    settled: settled,
                    name: "bridge",
                    parts: isPartless ? [] : remembered.compared ?? []
                )
            )
        } else {
            comparison = .join
        }
        var next = Mirror(sharing: sharing, bridge: "id-\(name)")
        bus.forgetEvents()
        for value in present { next.begin(value) }
        next.noted = bus.revision
        next.cursor = remembered?.etcd ?? 0
        next.barrier = max(fence, range.revision)
        found = next.reconcile(range.changes, at: range.revision, comparison).sorted(
            by: ComparedPart.precedes
        )
        compared = comparison.parts ?? []
        foundAt = range.revision
        mirror = next
        keepLease(&etcd)
    }

    /// Goes on with its lease if that still lives, or else gets another one.
    mutating func keepLease(_ etcd: inout SimulatedEtcd) {
        if let lease, etcd.lives(lease) {
            if mirror?.lease != lease { mirror?.take(lease: lease, isNew: false) }
            return
        }
        let next = etcd.grantLease()
        lease = next
        mirror?.take(lease: next, isNew: true)
    }

    // MARK: Small steps

    /// Gets some events of the bus.
    mutating func listen(_ random: inout SeededRandom) {
        guard mirror?.isReading == true else { return }
        let events = bus.events(&random)
        for event in events {
            mirror?.note(
                event.key, event.value, revision: event.revision, by: event.by, isBound: event.isBound
            )
        }
        mirror?.endGroup()
    }

    /// The values of the bus.
    private var present: [BusValue] {
        bus.snapshot.map {
            BusValue(
                key: $0.key,
                revision: $0.value.revision,
                value: $0.value.json,
                by: $0.value.by,
                isBound: $0.value.isBound
            )
        }
    }

    /// Stops to read the bus.
    mutating func endReading() { mirror?.isReading = false }

    /// Takes everything that is there, and reads again.
    mutating func beginReading() {
        guard mirror?.isReading == false else { return }
        bus.forgetEvents()
        var present = present
        let known = mirror?.keys.filter { $0.value.value != nil && bus.values[$0.key] == nil } ?? [:]
        if isForgetful, let (key, state) = known.first, let value = state.value {
            present.append(BusValue(key: key, revision: state.revision, value: value))
        }
        let owed = mirror?.owed(with: bus.values.mapValues(\.revision))
        mirror?.catchUp(with: present, at: bus.revision)
        if !isForgetful, owed != mirror?.owed { miscounted.append("\(name) counted \(owed ?? -1)") }
    }

    /// Writes some of the values anew that the bridge wrote, as it does when their host has come back.
    mutating func revive(_ random: inout SeededRandom) {
        guard mirror?.isReading == true else { return }
        let values = bus.snapshot.filter { $0.value.by == "bridge" }.map {
            BusValue(key: $0.key, revision: $0.value.revision, value: $0.value.json)
        }
        let current = values.filter { value in mirror?.isCurrent(value) == true && random.oneIn(2) }
        guard !current.isEmpty else { return }
        let writes = current.map {
            SimulatedBus.Change(key: $0.key, value: $0.value, ifRevision: $0.revision)
        }
        guard let revision = bus.write(writes, by: "bridge") else { return }
        mirror?.revived(current, at: revision)
    }

    mutating func send(_ etcd: inout SimulatedEtcd) {
        guard mirror != nil else { return }
        if mirror?.needsFence == true { mirror?.fenced(at: etcd.fence()) }
        guard let transaction = mirror?.underWay ?? mirror?.nextTransaction() else { return }
        requests.append(Request(transaction: transaction, life: life))
    }

    /// etcd carries out one of the requests, and answers, unless the answer is lost.
    mutating func arrive(_ etcd: inout SimulatedEtcd, _ random: inout SeededRandom) {
        guard !requests.isEmpty else { return }
        let index = random.below(requests.count)
        let request = requests[index]
        // A request may be carried out and travel on: networks repeat.
        if !random.oneIn(6) { requests.remove(at: index) }
        let outcome = etcd.perform(request.transaction, host: name)
        if request.life == life, !random.oneIn(4) { answers.append((life, request.transaction, outcome)) }
    }

    mutating func hear() {
        guard !answers.isEmpty else { return }
        let answer = answers.removeFirst()
        guard mirror?.underWay == answer.transaction, answer.life == life else { return }
        mirror?.settle(answer.outcome)
    }

    /// Takes the next revision of etcd. If the bus refuses the batch, it is tried again at the next step.
    mutating func follow(_ etcd: inout SimulatedEtcd, _ random: inout SeededRandom) {
        guard let mirror else { return }
        if foundAt > 0 {
            // What several hosts wrote comes in several batches, and a kill may come in between.
            if found.count > 1, random.oneIn(2) {
                let part = found.prefix(found.count / 2)
                let earlier = compared
                if let last = part.last { compared = ComparedPart(last, at: foundAt).following(compared) }
                if apply(Array(part), cursor: nil) {
                    found.removeFirst(part.count)
                } else {
                    compared = earlier
                }
                return
            }
            let earlier = compared
            compared = []
            guard apply(found, cursor: foundAt) else {
                compared = earlier
                return
            }
            self.mirror?.advance(to: foundAt)
            (found, foundAt) = ([], 0)
            return
        }
        guard mirror.cursor >= etcd.compacted else {
            kill()
            return begin(&etcd, &random)
        }
        guard let group = etcd.next(after: mirror.cursor) else { return }
        guard apply(group.changes, cursor: group.revision) else { return }
        self.mirror?.advance(to: group.revision)
    }

    private mutating func apply(_ changes: [EtcdChange], cursor: Int?) -> Bool {
        // The bus goes on between the two, as it does between any steps.
        if !changes.isEmpty, mirror?.isReading == false {
            beginReading()
            return false
        }
        guard let mirror else { return false }
        let steps = changes.map { (step: mirror.step(for: $0), change: $0) }
        var writes: [SimulatedBus.Change] = []
        for case (.apply(let ifRevision, _), let change) in steps {
            writes.append(SimulatedBus.Change(key: change.key, value: change.value, ifRevision: ifRevision))
        }
        var revision: Int?
        if !writes.isEmpty {
            revision = bus.write(writes, by: "bridge")
            guard revision != nil else { return false }
            remember(cursor)
        }
        for (step, change) in steps {
            note(step, change)
            self.mirror?.take(step, change, revision: revision)
        }
        return true
    }

    private mutating func note(_ step: MirrorStep, _ change: EtcdChange) {
        guard case .apply(_, let lost) = step else { return }
        if let lost { bus.lost.append(lost) }
        if seen[change.key] ?? 0 >= change.revision { wentBack.append("\(name) \(change.key)") }
        seen[change.key] = change.revision
    }

    /// Writes the cursor, as the session does now and then.
    mutating func remember(_ revision: Int? = nil) {
        guard let mirror else { return }
        bus.cursor = BridgeCursor(
            etcd: max(mirror.cursor, revision ?? 0),
            cluster: 1,
            settled: mirror.settled,
            epoch: "e",
            bridge: mirror.bridge,
            conflicts: 0,
            compared: compared.isEmpty ? nil : compared
        )
    }

    var isQuiet: Bool {
        requests.isEmpty && answers.isEmpty && foundAt == 0
            && mirror.map { $0.owed == 0 && $0.underWay == nil } ?? false
    }
}
