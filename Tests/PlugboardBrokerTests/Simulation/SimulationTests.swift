// The whole broker in a simulated world: its sockets, its disk, its clock and the order in
// which everything happens come from a seed. `PLUGBOARD_SEED=n` plays one, and shows it.

import Dispatch
import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a simulated world", .someAtATime, .serialized)
struct SimulationTests {
    /// The seeds that somebody wants to see; nil: all.
    private static let wanted = SocketPath.variable("PLUGBOARD_SEED")?.split(separator: ",").compactMap {
        UInt64($0)
    }

    /// Seeds in which something was found once, beyond those that are always played.
    private static let tellingWithFailures: [UInt64] = [943]
    private static let telling: [UInt64] = [186, 504, 3_699, 8_847]

    @Test("whatever the order of things, the promises hold", .timeLimit(.minutes(20)))
    func promises() {
        if let seeds = Self.wanted {
            for seed in seeds { report(seed, Recording(seed: seed, isShown: seeds.count == 1).check()) }
            return
        }
        let first = Array(0..<UInt64(LongSuite.count(10_000, quick: 150)))
        let seeds = LongSuite.isOn ? first : first + Self.telling
        let answered = Atomic<Int>(0)
        let failed = Mutex<[(UInt64, [String])]>([])
        DispatchQueue.concurrentPerform(iterations: seeds.count) { number in
            let recording = Recording(seed: seeds[number])
            answered.wrappingAdd(recording.answered, ordering: .relaxed)
            let complaints = recording.check()
            if !complaints.isEmpty { failed.withLock { $0.append((seeds[number], complaints)) } }
        }
        for (seed, complaints) in failed.withLock({ $0 }).prefix(20) { report(seed, complaints) }
        #expect(failed.withLock { $0.count } == 0)
        LongSuite.print(
            "\(seeds.count) simulated worlds, \(answered.load(ordering: .relaxed)) requests answered"
        )
    }

    @Test("nothing was told that a failing disk didn't keep")
    func failing() {
        var lives = 0
        // Every other seed has a journal.
        let first = (0..<UInt64(LongSuite.count(1_000, quick: 100))).map { 2 * $0 + 1 }
        let seeds = Self.wanted ?? (LongSuite.isOn ? first : first + Self.tellingWithFailures)
        for seed in seeds {
            let recording = Recording(seed: seed, isShown: Self.wanted?.count == 1, isFailing: true)
            lives += recording.lives
            report(seed, recording.check())
        }
        if Self.wanted != nil { return }
        #expect(lives > LongSuite.count(2_000, quick: 200))
        LongSuite.print("\(lives) lives of brokers whose disk failed or that were killed")
    }

    @Test("a seed is the same run each time")
    func replay() {
        for seed in 0..<UInt64(20) {
            let (first, second) = (Recording(seed: seed), Recording(seed: seed))
            #expect(first.fingerprint == second.fingerprint, "seed \(seed)")
        }
    }

    /// Each seed is played once, and each mistake is made in a copy.
    @Test("every mistake that a broker could make is found")
    func mistakes() {
        let wanted = LongSuite.count(40, quick: 8)
        var made: [Mutation: Int] = [:]
        for seed in 0..<UInt64(400) {
            let rare = Mutation.allCases.filter { made[$0, default: 0] < wanted }
            if rare.isEmpty { break }
            let recording = Recording(seed: seed)
            for mutation in rare where make(mutation, in: recording.copy()) {
                made[mutation, default: 0] += 1
            }
        }
        for mutation in Mutation.allCases { #expect(made[mutation, default: 0] >= 5, "\(mutation)") }
    }

    /// Makes a mistake, which has to be found. False: the recording has no place for it.
    private func make(_ mutation: Mutation, in recording: consuming Recording) -> Bool {
        let seed = recording.seed
        guard mutation.make(in: &recording, Chance(seed: seed)) else { return false }
        let isFound = recording.check().contains {
            mutation.complaint.isEmpty || $0.contains(mutation.complaint)
        }
        #expect(isFound, "\(mutation) in seed \(seed)")
        return true
    }

    private func report(_ seed: UInt64, _ complaints: [String]) {
        for complaint in complaints.prefix(5) { Issue.record("seed \(seed): \(complaint)") }
    }
}
