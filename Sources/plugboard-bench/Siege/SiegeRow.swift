// One row of the siege as data: what one client does to the broker, and what must hold for others
// meanwhile. The bench finds a row by its name, and so does the attacker, which is another process.

/// An attack, and what must hold.
struct SiegeRow: Sendable {
    /// A short, unique name, for `--only`.
    let name: String
    /// What the attacker does, in words.
    let what: String
    /// The most that the p99 of each bystander's waits may be, and a third of its longest wait.
    var waitMillisecondsMax = 10.0
    /// The most by which the broker's memory may grow meanwhile; nil if it is only shown.
    var growthBytesMax: Int?
    /// Whether a second after the attack the broker's memory must be as small as before.
    var givesBack = false
    /// Whether the attacker is another user, whom a policy allows everything within the default quotas.
    var isStranger = false
    /// Whether the attack goes on when it is set up. If not, the attacker is killed then.
    var lasts = true
    /// So many times as long as others.
    var length = 1.0
    /// How long each sync of the disk takes besides, in milliseconds. The row is about the journal then.
    var syncMilliseconds = 0
    /// Whether it is about the journal, so that it needs one.
    var needsJournal = false
    /// How many keys the bench publishes before anything is measured.
    var keys = 0
    /// What the attacker does until it is killed, or until the broker closes its connection.
    let attack: @Sendable (Attacker) throws -> Void

    /// What must hold, in words.
    var must: String {
        let growth = growthBytesMax.map { ", memory +\($0 >> 20) MB at most" } ?? ""
        return "≤ \(Digits.short(waitMillisecondsMax)) ms" + growth + (givesBack ? ", given back" : "")
    }

    /// The rows with these names, or all. A word that isn't a complete name selects the rows whose
    /// names contain it. Throws `BenchError` for a word that no name contains.
    static func chosen(_ names: [String]?) throws -> [SiegeRow] {
        guard let names else { return SiegeRows.all }
        let isWanted = try BenchOptions.selection(of: names, among: SiegeRows.all.map(\.name))
        return SiegeRows.all.filter { isWanted($0.name) }
    }
}

/// The size of a siege. A small one shows that everything works, and measures nothing.
enum SiegeScale: String, Sendable {
    case full, small

    /// A number of keys, connections or the like.
    func count(_ full: Int) -> Int { self == .small ? max(2, full / 100) : full }

    /// How long the bystanders are alone, and how long the attack goes on when it is set up.
    var attackSeconds: Double { self == .small ? 0.1 : 3 }
    /// How long the attacker may take to set itself up. Then the attack is what it has done so far.
    var setUpSeconds: Double { self == .small ? 5 : 10 }
    /// When the broker is killed, counted from the attacker's start, if it still doesn't answer.
    var rowSeconds: Double { self == .small ? 8 : 20 }
    /// How long after the attacker's end its memory must have been given back.
    var returnSeconds: Double { self == .small ? 0.1 : 1 }
}
