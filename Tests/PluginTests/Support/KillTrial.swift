// Kills a plugin with SIGKILL at any moment, also while it starts, again and again, while something goes on.
// The quick suite kills a few times, the long suite a hundred times.

import Foundation
import Synchronization
import TestSupport

/// Kills and restarts a plugin.
struct KillTrial {
    static let kills = LongSuite.count(100, quick: 4)

    let start: @Sendable () throws -> TestProgram
    private var random: SeededRandom

    init(seed: UInt64 = 15, start: @escaping @Sendable () throws -> TestProgram) {
        self.start = start
        random = SeededRandom(seed: seed)
    }

    /// Kills the plugin at random moments while `load` is repeated, about `rate` times a second. At last it
    /// starts the plugin once more and returns it. Half of the kills hit a plugin that has begun.
    /// - Parameter hasBegun: whether the plugin that was started last works.
    mutating func run(
        rate: Int,
        hasBegun: @escaping @Sendable () async throws -> Bool,
        _ load: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> TestProgram {
        let isOver = Atomic(false)
        async let loading: Void = Self.repeatedly(rate, until: isOver, load)
        for number in 0..<Self.kills {
            let plugin = try start()
            let milliseconds = Int(random.next() % 60)
            if number % 2 == 0 { try await eventually("it has begun", hasBegun) }
            try await Task.sleep(for: .milliseconds(milliseconds))
            try await plugin.stop(SIGKILL)
            // It stays away for a while.
            try await Task.sleep(for: .milliseconds(Int(random.next() % 20)))
        }
        let last = try start()
        try await eventually("it has begun", hasBegun)
        isOver.store(true, ordering: .releasing)
        try await loading
        return last
    }

    /// Repeats the load in steps that are counted from the first one, so that delays don't add up.
    private static func repeatedly(
        _ rate: Int, until isOver: borrowing Atomic<Bool>, _ load: @Sendable (Int) async throws -> Void
    ) async throws {
        let start = ContinuousClock.now
        var number = 0
        while !isOver.load(ordering: .acquiring) {
            try await load(number)
            number += 1
            try await Task.sleep(until: start + .seconds(Double(number) / Double(rate)))
        }
    }
}
