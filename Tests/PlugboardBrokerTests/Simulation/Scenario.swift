// What kind of run a seed makes: with a journal or without, with how many clients, and with what habits.

import PlugboardPosix

@testable import PlugboardJournal

/// The kind of a run.
struct Scenario {
    let hasJournal: Bool
    let kills: Int
    /// Whether updates may be folded because of `every`, phases or slow readers.
    let hasWindows: Bool
    let hasPhases: Bool
    let isHeavy: Bool
    let journal: JournalOptions
    private(set) var habits: [Habits] = []
    let features: Features
    private let wishes: Int

    init(seed: UInt64, _ chance: Chance) {
        let isHeavy = chance.isOne(in: 40)
        self.isHeavy = isHeavy
        // With so much data, even the witness isn't told everything.
        let hasJournal = seed % 2 == 1 || isHeavy
        self.hasJournal = hasJournal
        kills = hasJournal && seed % 3 != 0 ? 1 + chance.below(3) : 0
        hasWindows = chance.isOne(in: 3)
        hasPhases = chance.isOne(in: 5)
        journal = JournalOptions(
            sync: chance.pick([.never, .interval, .always]),
            historyBytes: .max / 2,
            segmentBytes: chance.pick([700...700, 1 << 20...1 << 20])
        )
        wishes = isHeavy ? 30 : 18
        let clients = 2 + chance.below(4)
        features = Features(seed: seed, users: (1...clients).map { Self.user(of: $0) })
        // The client that sees everything.
        var witness = Habits(features: features)
        witness.room = 1 << 24
        habits = [witness]
        for _ in 0..<clients {
            var one = Habits(features: features)
            one.window = 1 + chance.below(6)
            one.room = isHeavy ? chance.pick([8_192, 200_000]) : chance.pick([64, 300, 1_024, 200_000])
            one.mayVanish = chance.isOne(in: 3)
            one.mayStall = isHeavy || chance.isOne(in: 3)
            one.hasWindows = hasWindows
            one.hasPhases = hasPhases
            one.padding = isHeavy ? 60_000 : 0
            one.hasOrigins = seed % 8 == 3
            habits.append(one)
        }
    }

    func wishes(of client: Int) -> Int {
        if client == 0 { return 0 }
        return features.isPlain ? wishes : wishes + 10 + (features.hasLongSnapshots ? features.keys.count : 0)
    }

    /// The user of a client. With policies, each client has a user of its own, except the witness.
    func user(of client: Int) -> UInt32 {
        client == 0 || features.policies.isEmpty ? Accounts.ownUser : Self.user(of: client)
    }

    private static func user(of client: Int) -> UInt32 { PolicySequence.firstUser + UInt32(client) }
}

/// What the world of a seed has besides the plain traffic of values: filters, calls, wills and goodbyes, emits in
/// batches, short pauses, long snapshots, and policies that are loaded anew. Two worlds of five have none of it. The
/// others take it from a random source of its own, so the plain worlds stay as they always were.
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
    /// There are more keys, all with a value from the beginning, so a snapshot takes many turns. Values have few
    /// different parts.
    let hasLongSnapshots: Bool
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
        hasLongSnapshots = hasSlices && hasFilters && chance.isOne(in: 2)
    }

    var keys: [String] { (0..<(hasLongSnapshots ? 12 : 3)).map { "k.\($0)" } + ["other"] }

    var isPlain: Bool {
        !hasFilters && !hasCalls && !hasFarewells && !hasMixedBatches && !hasShortPauses
            && !hasSlices && policies.isEmpty
    }
}
