// What a world has beyond the plain traffic of values: filters, calls, wills and goodbyes, emits
// within batches, short pauses, and a policy that is loaded anew. Two worlds of five have none of it; what the others have comes
// from a source of its own, so that the plain ones are what they have always been.

/// What there is in the world of a seed.
struct Features {
    let hasFilters: Bool
    let hasCalls: Bool
    let hasFarewells: Bool
    let hasMixedBatches: Bool
    let hasShortPauses: Bool
    let policies: PolicySequence
    /// When the next policy is loaded, in turns.
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
    }

    var isPlain: Bool {
        !hasFilters && !hasCalls && !hasFarewells && !hasMixedBatches && !hasShortPauses
            && policies.isEmpty
    }
}
