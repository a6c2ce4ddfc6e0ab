// One run of a simulation: a broker, its clients, its disk, and the order in which they act,
// all of it from one seed. The broker is the real one; what it waits for happens here.

import PlugboardJournal
import PlugboardPosix
import Synchronization
import TestSupport

@testable import PlugboardBroker

/// The broker was killed.
struct SimulatedKill: Error {}

/// A run that doesn't come to its end.
struct NoEnd: Error {}

/// Everything that one seed makes. Used by one thread.
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
    private var worker: SlowWorker?
    /// How often the broker was started.
    private(set) var life = 0
    private(set) var isServing = true
    private(set) var complaints: [String] = []
    private var phase = Phase.busy
    private var steps = 0
    private var turns = 0
    private var killsAt: [Int] = []
    private var reloadsAt: [Int] = []
    private var policyInbox: Mailbox<Policy>?
    private let reports = ReportCount()
    /// The policy that was left for the broker, and the one that it said it follows.
    private(set) var policyPosted = 0
    private(set) var policyInForce = 0
    /// A number for all that was told to everyone, in its order.
    private(set) var fingerprint = Fingerprint()
    /// Printed as it happens, if somebody wants to see it.
    var isShown = false

    /// When the disk fails, if it is to.
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
    var isStopping: Bool { phase == .stopping }
    /// Nothing has been brought to rest yet.
    var isBusy: Bool { phase == .busy }

    /// Plays it to its end. What went wrong is in `complaints`.
    func play() {
        do {
            while try !liveOnce() {}
        } catch {
            complain("the broker ended: \(error)")
        }
        clients.forEach { $0.noteEnd() }
    }

    /// A life of the broker. False: it was killed, and another one follows.
    private func liveOnce() throws -> Bool {
        life += 1
        let wakeup = try Wakeup()
        network.stopDescriptor = wakeup.raw
        var loop = try EventLoop(
            poller: network,
            listener: SimulatedNetwork.listener,
            wakeup: wakeup,
            network: network,
            time: TimeSource(time),
            report: reports.take
        )
        loop.hub.keyspace.resume("00000000000000aa", at: 0)
        if scenario.hasJournal {
            let worker = SlowWorker(disk)
            self.worker = worker
            try loop.listen(to: worker.wakeup)
            try loop.open(
                disk,
                worker: worker,
                scenario.journal,
                boot: "boot",
                newEpoch: { "00000000000000bb" }
            )
        }
        if let policy = policies.isEmpty ? nil : policies.policy(policyPosted) {
            let inbox = try Mailbox<Policy>()
            policyInbox = inbox
            policyInForce = policyPosted
            _ = reports.takeReloads()
            try loop.follow(policy, inbox: inbox)
        }
        do {
            try loop.run()
            return true
        } catch is SimulatedKill {
            // Another life follows.
        } catch JournalError.failed where faults != nil {
            // The same.
        }
        network.dropAll()
        disk = disk.afterKill()
        return false
    }

    /// Every write that was made.
    func log() -> WriteLog {
        if scenario.hasJournal {
            let names = disk.files.keys.filter { $0.hasPrefix("segment-") }.sorted()
            return WriteLog(journal: names.compactMap { disk.files[$0]?.bytes })
        }
        return clients[0].conversations.first.map(WriteLog.init(seenBy:)) ?? WriteLog([])
    }

    // MARK: While the broker waits

    /// Called as the broker's turn ends and the next begins.
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
        policyInbox?.put(policy)
    }

    /// Whether the broker has said meanwhile that it follows what was left for it.
    func lookAtReports() {
        guard policyInForce < policyPosted, reports.takeReloads() > 0 else { return }
        policyInForce = policyPosted
        network.notePolicy(policyInForce)
    }

    var policies: PolicySequence { scenario.features.policies }
    var policyDescriptor: Int32 { policyInbox?.raw ?? -1 }

    /// A policy waits to be taken.
    var hasPolicy: Bool {
        lookAtReports()
        return policyInForce < policyPosted
    }

    var nanoseconds: UInt64 { TimeSource(time).nanoseconds() }

    /// The next change on the disk fails, now and then.
    private func plan(_ faults: Chance) {
        if phase != .busy { disk.nextChangeFails = nil }
        guard phase == .busy, faultsLeft > 0, disk.nextChangeFails == nil, faults.isOne(in: 40) else {
            return
        }
        faultsLeft -= 1
        disk.tearsRefusedWrites = faults.isOne(in: 2)
        disk.nextChangeFails = EIO
    }

    /// Lets some of those who can do something do it. False: nobody could.
    func act() throws -> Bool {
        steps += 1
        if steps > Self.stepsMax { throw NoEnd() }
        if let worker, chance.isOne(in: 3) { _ = worker.doNext() }
        // The witness comes first, so that it sees everything.
        if !clients[0].hasBegun { return clients[0].act() }
        var hasActed = false
        for _ in 0..<(1 + chance.below(3)) where chance.pick(clients).act() { hasActed = true }
        if hasActed { return true }
        // Chance may have picked those who have nothing to do.
        for client in clients.shuffled(using: &chance.generator) where client.act() { return true }
        return worker?.doNext() ?? false
    }

    var hasJournalNews: Bool { worker?.hasDone ?? false }
    var journalDescriptor: Int32 { worker?.wakeup.raw ?? -1 }

    /// Nobody has anything to do, the broker included: the next part begins.
    func noteQuiet() throws {
        switch phase {
        case .busy:
            phase = .settling
            clients.forEach { $0.settle() }
        case .settling:
            phase = .finishing
            restedAt = count()
            clients.forEach { $0.finish(reading: scenario.keys) }
        case .finishing:
            clients.flatMap(\.unanswered).forEach(complain)
            isServing = false
            phase = .stopping
        case .stopping: throw NoEnd()
        }
    }

    // MARK: What is noted

    /// The next moment.
    func count() -> Int {
        moment += 1
        return moment
    }

    private var moment = 0
    /// When nothing was left to be told.
    private(set) var restedAt = Int.max

    func note(_ told: Told, to name: String) {
        fingerprint.add(told.text, to: name)
        if isShown { print("\(told.time) \(name) < \(told.text.prefix(160))") }
    }

    func complain(_ complaint: String) {
        complaints.append(complaint)
    }
}

/// How often the broker has said that it follows another policy.
final class ReportCount: Sendable {
    private let reloads = Atomic<Int>(0)

    @Sendable func take(_ report: String) {
        if report.hasPrefix("the policy was loaded anew") { reloads.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Those since it was asked last.
    func takeReloads() -> Int { reloads.exchange(0, ordering: .relaxed) }
}

/// Brings to disk what it is asked to, whenever chance says so.
final class SlowWorker: JournalWorker {
    let wakeup: Wakeup
    private let worker: ImmediateWorker
    private var work: [(ImmediateWorker) -> Void] = []
    private(set) var hasDone = false

    init(_ store: any FileStore) {
        worker = ImmediateWorker(store)
        wakeup = (try? Wakeup()).unsafelyUnwrapped
    }

    func sync(_ requests: [SyncRequest], number: UInt64) {
        work.append { $0.sync(requests, number: number) }
    }

    func releaseRoom(of file: any AppendableFile) {
        work.append { $0.releaseRoom(of: file) }
    }

    func prepare(bytes: Int, isLaidOut: Bool) {
        work.append { $0.prepare(bytes: bytes, isLaidOut: isLaidOut) }
    }

    func compact(_ request: CompactionRequest) {
        work.append { $0.compact(request) }
    }

    func takeDone() -> [WorkDone] {
        hasDone = false
        return worker.takeDone()
    }

    func finish() {
        while doNext() {}
    }

    /// Does the next piece of work, if there is one.
    func doNext() -> Bool {
        guard !work.isEmpty else { return false }
        work.removeFirst()(worker)
        hasDone = true
        return true
    }
}
