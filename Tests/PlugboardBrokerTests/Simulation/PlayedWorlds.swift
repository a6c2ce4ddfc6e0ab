// Many worlds, played side by side, and what came of them. Playing takes longest of all: each is
// played once, for whoever wants to know of it.

import Dispatch
import Synchronization

/// What came of the worlds of many seeds.
struct PlayedWorlds: Sendable {
    /// How many are played before it is looked at them: each holds all that was said in it.
    private static let together = 24

    private(set) var checkedCount = 0
    private(set) var answered = 0
    /// What is wrong with worlds in which nobody made a mistake.
    private(set) var failed: [(seed: UInt64, complaints: [String])] = []
    private(set) var fingerprints: [UInt64: Fingerprint] = [:]
    /// How often each mistake was made, and which were not found.
    private(set) var made: [Mutation: Int] = [:]
    private(set) var overlooked: [String] = []
    /// So often each is wanted.
    private let wanted: Int

    /// Plays the seeds and checks them. Makes each mistake so many times, in the first worlds that have
    /// a place for it.
    init(checked seeds: [UInt64], mistakes wanted: Int, mistakenBelow end: UInt64) {
        self.wanted = wanted
        let checked = Set(seeds)
        play(seeds.filter { $0 < end }, isChecking: true, isMistaken: true)
        play((0..<end).filter { !checked.contains($0) }, isChecking: false, isMistaken: true)
        play(seeds.filter { $0 >= end }, isChecking: true, isMistaken: false)
    }

    private var rare: [Mutation] { Mutation.allCases.filter { made[$0, default: 0] < wanted } }

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

    /// In the order of the seeds, whichever was ready first.
    private static func recordings(of seeds: [UInt64], isChecking: Bool) -> [(Recording, [String])] {
        let ready = Mutex([Played?](repeating: nil, count: seeds.count))
        DispatchQueue.concurrentPerform(iterations: seeds.count) { number in
            let recording = Recording(seed: seeds[number])
            let played = Played(recording: recording, complaints: isChecking ? recording.check() : [])
            ready.withLock { $0[number] = played }
        }
        return ready.withLock { $0 }.compactMap { $0.map { ($0.recording, $0.complaints) } }
    }

    /// Handed from the thread that made it to the one that goes on with it.
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

    /// Makes a mistake, which has to be found, if the recording has a place for it.
    private mutating func make(_ mutation: Mutation, in recording: consuming Recording) {
        let seed = recording.seed
        guard mutation.make(in: &recording, Chance(seed: seed)) else { return }
        made[mutation, default: 0] += 1
        let isFound = recording.check().contains {
            mutation.complaint.isEmpty || $0.contains(mutation.complaint)
        }
        if !isFound { overlooked.append("\(mutation) in seed \(seed) is not found") }
    }
}
