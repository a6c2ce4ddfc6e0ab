// The siege by steps instead of time: no turn does more than its budgets allow, and a bystander is answered
// within a few turns, whatever the others ask for. So that this can fail, each attacker is tried on a broker
// without budgets, too.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a small siege, by steps", .computing)
struct SmallSiegeTests {
    private static let turns = 200
    /// The bystander is read, and then maybe held back for a turn, or the crowd is larger than one turn reads.
    private static let turnsMost = 4

    @Test("no turn does too much, and a bystander is answered within a few", arguments: SmallAttack.all)
    func bounded(attack: SmallAttack) throws {
        let stage = try SiegeStage(hasSlices: true)
        let start = try attack.prepare(stage)
        let (most, all) = try stage.watch(turns: Self.turns, attack.measure, after: start)
        #expect(most <= attack.most)
        #expect(all > attack.most, "in one turn, that would be too much")
        #expect(stage.turnsMost <= Self.turnsMost)
        #expect(stage.answers >= Self.turns / Self.turnsMost)
    }

    @Test("without slices each has its way", arguments: SmallAttack.all.filter { !$0.hasFixedBudget })
    func unbounded(attack: SmallAttack) throws {
        let stage = try SiegeStage(hasSlices: false)
        let start = try attack.prepare(stage)
        let most = try stage.watch(turns: Self.turns, attack.measure, after: start).most
        #expect(most > attack.most)
    }
}
