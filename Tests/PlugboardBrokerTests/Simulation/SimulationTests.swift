// The whole broker in a simulated world: its sockets, its disk, its clock and the order in
// which everything happens come from a seed. `PLUGBOARD_SEED=n` plays one, and shows it.

import Dispatch
import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a simulated world", .oneAtATime, .serialized)
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

    @Test("every mistake that a broker could make is found", arguments: Mutation.allCases)
    func mistakes(_ mutation: Mutation) {
        var made = 0
        for seed in 0..<UInt64(400) where made < LongSuite.count(40, quick: 8) {
            var recording = Recording(seed: seed)
            guard mutation.make(in: &recording, Chance(seed: seed)) else { continue }
            made += 1
            let isFound = recording.check().contains {
                mutation.complaint.isEmpty || $0.contains(mutation.complaint)
            }
            #expect(isFound, "\(mutation) in seed \(seed)")
        }
        #expect(made >= 5)
    }

    private func report(_ seed: UInt64, _ complaints: [String]) {
        for complaint in complaints.prefix(5) { Issue.record("seed \(seed): \(complaint)") }
    }
}
