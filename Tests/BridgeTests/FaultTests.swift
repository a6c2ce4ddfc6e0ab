import Foundation
import PlugboardPosix
import TestSupport
import Testing

@Suite(
    "Three hosts, and three nodes of etcd, of which any may fail",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server"),
    .timeLimit(.minutes(59))
)
struct FaultTests {
    @Test("whatever fails, all agree at last, and no answered write is lost without a trace")
    func agreement() async throws {
        let only = SocketPath.variable("PLUGBOARD_SEED").flatMap { Int($0) }
        let seeds = Array(only.map { $0...$0 } ?? 1...LongSuite.count(200, quick: 5))
        // Most of a trial is waiting, so several have room beside each other, each with an etcd of its own.
        let lanes = min(LongSuite.count(4, quick: 1), seeds.count)
        let longest = try await withThrowingTaskGroup(of: Duration.self) { group in
            for lane in 0..<lanes {
                group.addTask { try await run(seeds.filter { $0 % lanes == lane }) }
            }
            return try await group.reduce(.zero, max)
        }
        LongSuite.print("all buses agree \(longest) after the last fault, at the latest")
    }

    /// Returns how long it took at most until all agreed.
    private func run(_ seeds: [Int]) async throws -> Duration {
        let etcd = try EtcdCluster(3)
        try await etcd.ready()
        var longest = Duration.zero
        for seed in seeds {
            var trial = try await FaultTrial(seed: seed, etcd: etcd)
            // Some are so long that the bridge stops reading the bus.
            let long = seed % 10 == 0 ? 8_000 : 3_000
            let outcome = try await trial.run(faults: 3, milliseconds: LongSuite.count(long, quick: 600))
            for mistake in outcome.mistakes { Issue.record("seed \(seed): \(mistake)") }
            #expect(outcome.settled < .seconds(20), "seed \(seed)")
            longest = max(longest, outcome.settled)
        }
        return longest
    }
}
