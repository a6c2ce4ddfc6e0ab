// Many worlds, played in parallel, and their results. Playing takes the most time, so each world is
// played once for all tests.

import Dispatch
import Synchronization

/// The results of the worlds of many seeds.
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
