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
        let etcd = try EtcdCluster(3)
        try await etcd.ready()
        let only = SocketPath.variable("PLUGBOARD_SEED").flatMap { Int($0) }
        var longest = Duration.zero
        for seed in only.map({ $0...$0 }) ?? 1...LongSuite.count(200, quick: 5) {
            var trial = try await FaultTrial(seed: seed, etcd: etcd)
            let outcome = try await trial.run(faults: 3, milliseconds: LongSuite.count(3_000, quick: 600))
            for mistake in outcome.mistakes { Issue.record("seed \(seed): \(mistake)") }
            #expect(outcome.settled < .seconds(20), "seed \(seed)")
            longest = max(longest, outcome.settled)
        }
        LongSuite.print("all buses agree \(longest) after the last fault, at the latest")
    }
}
