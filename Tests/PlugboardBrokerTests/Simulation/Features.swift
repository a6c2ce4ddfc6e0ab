// What a world has besides the plain traffic of values: filters, calls, wills and goodbyes, emits in
// batches, short pauses, and policies that are loaded anew. Two worlds of five have none of it. The
// others take it from a random source of its own, so the plain worlds stay as they always were.

/// The features of the world of a seed.
struct Features {
    let hasFilters: Bool
    let hasCalls: Bool
    let hasFarewells: Bool
    let hasMixedBatches: Bool
    let hasShortPauses: Bool
    /// Requests that look at keys look at one a turn.
    let hasSlices: Bool
    /// A turn serves one connection that is only told something, and does as little else as it can.
    let hasShortTurns: Bool
    let policies: PolicySequence
    /// The turns in which a new policy is loaded.
    let reloads: [Int]

    init(seed: UInt64, users: [UInt32]) {
        let chance = Chance(seed: seed &* 0xD134_2543_DE82_EF95 &+ 1)
        let isPlain = [1, 2].contains(seed % 5)
        hasFilters = !isPlain && chance.isOne(in: 2)
        hasCalls = !isPlain && chance.isOne(in: 2)
        hasFarewells = !isPlain && chance.isOne(in: 2)
        policies = !isPlain && chance.isOne(in: 3) ? PolicySequence(users, chance) : PolicySequence()
        reloads = (0..<max(0, policies.count - 1)).map { _ in 15 + chance.below(200) }.sorted()
        hasMixedBatches = !isPlain && chance.isOne(in: 2)
        hasShortPauses = !isPlain && chance.isOne(in: 2)
        hasSlices = !isPlain && chance.isOne(in: 2)
        hasShortTurns = hasSlices && chance.isOne(in: 2)
    }

    var isPlain: Bool {
        !hasFilters && !hasCalls && !hasFarewells && !hasMixedBatches && !hasShortPauses
            && !hasSlices && policies.isEmpty
    }
}
