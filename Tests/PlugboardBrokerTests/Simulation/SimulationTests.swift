// The whole broker in a simulated world: its sockets, its disk, its clock and the order of everything
// come from a seed. `PLUGBOARD_SEED=n` plays one seed and shows it.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a simulated world", .computing)
struct SimulationTests {
    /// The seeds to show; nil means all, without showing them.
    private static let wanted = SocketPath.variable("PLUGBOARD_SEED")?.split(separator: ",").compactMap {
        UInt64($0)
    }

    /// Seeds in which something was found once, beyond those that are always played.
    private static let tellingWithFailures: [UInt64] = [943, 1_433]
    private static let telling: [UInt64] = [
        186, 366, 504, 576, 1_018, 1_517, 2_374, 3_363, 3_366, 3_699, 4_263, 4_409, 4_783, 5_442, 8_847,
    ]

    /// Each world is played once for all tests.
    private static let played = PlayedWorlds(
        checked: LongSuite.isOn ? Array(0..<10_000) : Array(0..<150) + telling,
        mistakes: LongSuite.count(40, quick: 8),
        mistakenBelow: 400
    )

    @Test("whatever the order of things, the promises hold", .timeLimit(.minutes(20)))
    func promises() {
        if let seeds = Self.wanted {
            for seed in seeds { report(seed, Recording(seed: seed, isShown: seeds.count == 1).check()) }
            return
        }
        let played = Self.played
        for (seed, complaints) in played.failed.prefix(20) { report(seed, complaints) }
        #expect(played.failed.isEmpty)
        LongSuite.print("\(played.checkedCount) simulated worlds, \(played.answered) requests answered")
    }

    @Test("nothing was told that a failing disk didn't keep")
    func failing() {
        var lives = 0
        // Every second seed has a journal.
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
            #expect(Recording(seed: seed).fingerprint == Self.played.fingerprints[seed], "seed \(seed)")
        }
    }

    /// Each mistake is made in a copy.
    @Test("every mistake that a broker could make is found", .timeLimit(.minutes(20)))
    func mistakes() {
        let played = Self.played
        for mistake in played.overlooked { Issue.record("\(mistake)") }
        for mutation in Mutation.all {
            #expect(played.made[mutation.name, default: 0] >= 5, "\(mutation.name)")
        }
    }

    private func report(_ seed: UInt64, _ complaints: [String]) {
        for complaint in complaints.prefix(5) { Issue.record("seed \(seed): \(complaint)") }
    }
}
