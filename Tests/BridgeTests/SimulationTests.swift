import PlugboardPosix
import TestSupport
import Testing

@testable import BridgePlugin

@Suite("The mirror in a simulated world", .computing)
struct SimulationTests {
    @Test(
        "after any order of events all buses agree with etcd, and no answered write is lost without a trace"
    )
    func agreement() {
        let count = LongSuite.count(20_000, quick: 400)
        let only = SocketPath.variable("PLUGBOARD_SEED").flatMap { Int($0) }
        for seed in only.map({ $0...$0 }) ?? 1...count {
            var world = MirrorSimulation(seed: seed)
            world.isTold = only != nil
            world.run()
            for mistake in world.mistakes { Issue.record("seed \(seed): \(mistake)") }
            if !world.mistakes.isEmpty { return }
        }
    }

    @Test("the checks notice a bus that doesn't keep `if`")
    func sabotage() {
        let found = (1...200).count { seed in
            var world = MirrorSimulation(seed: seed, isUnguarded: true)
            world.run()
            return !world.mistakes.isEmpty
        }
        #expect(found > 10)
    }

    @Test("the checks notice a bridge that forgets how far it had compared when it was killed")
    func partless() {
        let found = (1...400).count { seed in
            var world = MirrorSimulation(seed: seed, isPartless: true)
            world.run()
            return !world.mistakes.isEmpty
        }
        #expect(found > 5)
    }

    @Test("the checks notice a bridge that overlooks what was deleted while it didn't read")
    func overlooked() {
        let found = (1...80).count { seed in
            var world = MirrorSimulation(seed: seed, isForgetful: true)
            world.run()
            return !world.mistakes.isEmpty
        }
        #expect(found > 10)
    }
}
