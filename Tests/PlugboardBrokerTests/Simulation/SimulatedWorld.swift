// One run of a simulation: a broker, its clients, its disk, and the order in which they act, all from one
// seed. The broker is the real one. Everything happens while it waits.

import PlugboardJournal
import PlugboardPosix
import TestSupport

@testable import PlugboardBroker

/// Thrown when the broker is killed.
struct SimulatedKill: Error {}

/// Thrown when a run doesn't come to an end.
struct NoEnd: Error {}

/// Everything that one seed makes. Only one thread uses it.
final class SimulatedWorld {
    private enum Phase { case busy, settling, finishing, stopping }
    private static let stepsMax = 400_000

    let seed: UInt64
    let chance: Chance
    let scenario: Scenario
    let network: SimulatedNetwork
    private let time = SimulatedTime()
    private(set) var clients: [SimulatedClient] = []
    private var disk = SimulatedDisk()
    private var worker: LateWorker?
    /// How often the broker was started.
    private(set) var life = 0
    private(set) var isServing = true
    private var orders: Orders?
    private(set) var complaints: [String] = []
    private var phase = Phase.busy
    private var steps = 0
    private var turns = 0
    private var killsAt: [Int] = []
    private var reloadsAt: [Int] = []
    /// How often the broker has said that it follows another policy, since that was looked at.
    private let reloads = Shared(0)
    /// The policy that was left for the broker, and the one that the broker says it follows.
    private(set) var policyPosted = 0
    private(set) var policyInForce = 0
    /// A number for everything that all clients were told, in order.
    private(set) var fingerprint = Fingerprint()
    /// Whether lines are printed as they come.
    var isShown = false

    /// Decides when the disk fails; nil if it never does.
    private let faults: Chance?
    private var faultsLeft = 3

    init(seed: UInt64, isFailing: Bool = false) {
        self.seed = seed
        faults = isFailing ? Chance(seed: ~seed) : nil
        chance = Chance(seed: seed)
        scenario = Scenario(seed: seed, chance)
        network = SimulatedNetwork(chance: chance, time: time)
        network.world = self
        killsAt = (0..<scenario.kills).map { _ in 20 + chance.below(300) }.sorted()
        reloadsAt = isFailing ? [] : scenario.features.reloads
        clients = scenario.habits.enumerated().map { number, habits in
            SimulatedClient(
                name: "c\(number)",
                user: scenario.user(of: number),
                world: self,
                wishes: scenario.wishes(of: number),
                habits: habits
            )
        }
        clients[0].witness()
    }

    var hasJournal: Bool { scenario.hasJournal }
    /// The last policy by which what was sent may be judged: its client may have left long before that.
    var lastPolicy: Int { max(0, policies.count - 1) }
    var isStopping: Bool { phase == .stopping }
    /// Whether nothing has come to rest yet.
    var isBusy: Bool { phase == .busy }

    /// Plays the run to its end. `complaints` has what went wrong.
    func play() {
        do {
            while try !liveOnce() {}
        } catch {
            complain("the broker ended: \(error)")
        }
        clients.forEach { $0.noteEnd() }
    }

    /// One life of the broker. Returns false if it was killed and another life follows.
    private func liveOnce() throws -> Bool {
        life += 1
        let orders = try Orders()
        self.orders = orders
        network.ordersDescriptor = orders.wakeup.raw
        var loop = try EventLoop(
            poller: network,
            listener: SimulatedNetwork.listener,
            orders: orders,
            network: network,
            time: TimeSource(time),
            report: { [reloads] report in
                if report.hasPrefix("the policy was loaded anew") { reloads.set(reloads.get() + 1) }
            }
        )
        loop.hub.keyspace.resume("00000000000000aa", at: 0)
        if scenario.features.hasSlices { loop.hub.requests = Requests(visitsMax: 1) }
        if scenario.features.hasShortTurns { loop.pace.effortMax = 1 }
        if scenario.hasJournal {
            let worker = LateWorker(disk, holding: LateWorker.holdsSlowWork)
            self.worker = worker
            try loop.open(
                disk, worker: worker, scenario.journal, boot: "boot", newEpoch: { "00000000000000bb" }
            )
        }
        if let policy = policies.isEmpty ? nil : policies.policy(policyPosted) {
            policyInForce = policyPosted
            reloads.set(0)
            loop.hub.follow(policy)
        }
        do {
            try loop.run()
            return true
        } catch is SimulatedKill {
            // Another life follows.
        } catch JournalError.failed where faults != nil {
            // Another life follows here, too.
        }
        network.dropAll()
        disk = disk.afterKill()
        return false
    }

    /// All writes that were made.
    func log() -> WriteLog {
        if scenario.hasJournal {
            let names = disk.files.keys.filter { $0.hasPrefix("segment-") }.sorted()
            return WriteLog(journal: names.compactMap { disk.files[$0]?.bytes })
        }
        return clients[0].conversations.first.map(WriteLog.init(seenBy:)) ?? WriteLog([])
    }

    // MARK: While the broker waits

    /// Called when one turn of the broker ends and the next begins.
    func beginTurn() throws {
        turns += 1
        if let faults { plan(faults) }
        if let next = killsAt.first, turns >= next, phase == .busy {
            killsAt.removeFirst()
            throw SimulatedKill()
        }
        if let next = reloadsAt.first, turns >= next, phase == .busy {
            reloadsAt.removeFirst()
            reload()
        }
    }

    /// Leaves the next policy for the broker.
    private func reload() {
        lookAtReports()
        guard let policy = policies.policy(policyPosted + 1) else { return complain("no policy") }
        policyPosted += 1
        clients.forEach { $0.noteReload() }
        orders?.follow(policy)
    }

    /// Notes whether the broker has said that it follows the policy that was left for it.
    func lookAtReports() {
        guard policyInForce < policyPosted, reloads.exchange(0) > 0 else { return }
        policyInForce = policyPosted
        network.notePolicy(policyInForce)
    }

    var policies: PolicySequence { scenario.features.policies }
    /// Whether a policy waits for the broker.
    var hasPolicy: Bool {
        lookAtReports()
        return policyInForce < policyPosted
    }

    var nanoseconds: UInt64 { TimeSource(time).nanoseconds() }

    /// Now and then, makes the next change of the disk fail.
    private func plan(_ faults: Chance) {
        if phase != .busy { disk.nextChangeFails = nil }
        guard phase == .busy, faultsLeft > 0, disk.nextChangeFails == nil, faults.isOne(in: 40) else {
            return
        }
        faultsLeft -= 1
        disk.tearsRefusedWrites = faults.isOne(in: 2)
        disk.nextChangeFails = EIO
    }

    /// Lets some clients act. Returns false if none can.
    func act() throws -> Bool {
        steps += 1
        if steps > Self.stepsMax { throw NoEnd() }
        if let worker, chance.isOne(in: 3) { _ = worker.doNext() }
        // The witness comes first, so that it sees everything.
        if !clients[0].hasBegun { return clients[0].act() }
        var hasActed = false
        for _ in 0..<(1 + chance.below(3)) where chance.pick(clients).act() { hasActed = true }
        if hasActed { return true }
        // The random choice may have hit clients that have nothing to do.
        for client in clients.shuffled(using: &chance.generator) where client.act() { return true }
        return worker?.doNext() ?? false
    }

    var hasJournalNews: Bool { worker?.hasDone ?? false }

    /// Neither the broker nor any client has anything to do. Begins the next part.
    func noteQuiet() throws {
        switch phase {
        case .busy:
            phase = .settling
            clients.forEach { $0.settle() }
        case .settling:
            phase = .finishing
            restedAt = count()
            clients.forEach { $0.finish(reading: scenario.features.keys) }
        case .finishing:
            clients.flatMap(\.unanswered).forEach(complain)
            isServing = false
            phase = .stopping
            orders?.end(.stopping)
        case .stopping: throw NoEnd()
        }
    }

    // MARK: What is noted

    /// The number of the next moment.
    func count() -> Int {
        moment += 1
        return moment
    }

    private var moment = 0
    /// The moment at which nothing was left to be told.
    private(set) var restedAt = Int.max

    func note(_ told: Told, to name: String) {
        fingerprint.add(told.text, to: name)
        if isShown { print("\(told.time) \(name) < \(told.text.prefix(160))") }
    }

    func complain(_ complaint: String) {
        complaints.append(complaint)
    }
}
