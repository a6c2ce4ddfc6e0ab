// The whole broker in a simulated world: its sockets, its disk, its clock and the order of everything
// come from a seed. `PLUGBOARD_SEED=n` plays one seed and shows it.

import Dispatch
import PlugboardPosix
import Synchronization
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
        186, 309, 318, 366, 504, 576, 585, 1_018, 1_517, 2_374, 3_363, 3_366, 3_699, 4_263, 4_409, 4_783,
        5_442, 8_847,
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

/// The results of the worlds of many seeds, played in parallel. Playing takes the most time, so each world is
/// played once for all tests.
struct PlayedWorlds: Sendable {
    /// How many worlds are played before they are checked. Each keeps everything that was said in it.
    private static let together = 24

    private(set) var checkedCount = 0
    private(set) var answered = 0
    /// Worlds in which something is wrong although no mistake was made, with the complaints.
    private(set) var failed: [(seed: UInt64, complaints: [String])] = []
    private(set) var fingerprints: [UInt64: Fingerprint] = [:]
    /// How often each mistake was made, by its name, and the mistakes that were not found.
    private(set) var made: [String: Int] = [:]
    private(set) var overlooked: [String] = []
    /// How often each mistake should be made.
    private let wanted: Int

    /// Plays the seeds and checks them. Makes each mistake `wanted` times, in the first worlds that have
    /// a place for it.
    init(checked seeds: [UInt64], mistakes wanted: Int, mistakenBelow end: UInt64) {
        self.wanted = wanted
        let checked = Set(seeds)
        play(seeds.filter { $0 < end }, isChecking: true, isMistaken: true)
        play((0..<end).filter { !checked.contains($0) }, isChecking: false, isMistaken: true)
        play(seeds.filter { $0 >= end }, isChecking: true, isMistaken: false)
    }

    private var rare: [Mutation] { Mutation.all.filter { made[$0.name, default: 0] < wanted } }

    private mutating func play(_ seeds: [UInt64], isChecking: Bool, isMistaken: Bool) {
        for start in stride(from: 0, to: seeds.count, by: Self.together) {
            if !isChecking, rare.isEmpty { return }
            let some = seeds[start..<min(start + Self.together, seeds.count)]
            for (recording, complaints) in Self.recordings(of: Array(some), isChecking: isChecking) {
                if isChecking { note(recording, complaints) }
                guard isMistaken else { continue }
                for mutation in rare { make(mutation, in: recording.copy()) }
            }
        }
    }

    /// The recordings in the order of the seeds, whichever was ready first.
    private static func recordings(of seeds: [UInt64], isChecking: Bool) -> [(Recording, [String])] {
        let ready = Mutex([Played?](repeating: nil, count: seeds.count))
        DispatchQueue.concurrentPerform(iterations: seeds.count) { number in
            let recording = Recording(seed: seeds[number])
            let played = Played(recording: recording, complaints: isChecking ? recording.check() : [])
            ready.withLock { $0[number] = played }
        }
        return ready.withLock { $0 }.compactMap { $0.map { ($0.recording, $0.complaints) } }
    }

    /// A result that one thread makes and another one uses.
    private struct Played: @unchecked Sendable {
        let recording: Recording
        let complaints: [String]
    }

    private mutating func note(_ recording: Recording, _ complaints: [String]) {
        checkedCount += 1
        answered += recording.answered
        fingerprints[recording.seed] = recording.fingerprint
        if !complaints.isEmpty { failed.append((recording.seed, complaints)) }
    }

    /// Makes a mistake, if the recording has a place for it. The checks must find it.
    private mutating func make(_ mutation: Mutation, in recording: consuming Recording) {
        let seed = recording.seed
        guard mutation.make(&recording, Chance(seed: seed)) else { return }
        made[mutation.name, default: 0] += 1
        let isFound = recording.checks.contains { check in
            check().contains { mutation.complaint.isEmpty || $0.contains(mutation.complaint) }
        }
        if !isFound { overlooked.append("\(mutation.name) in seed \(seed) is not found") }
    }
}
