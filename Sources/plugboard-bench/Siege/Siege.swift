// Runs the siege: row by row, each against a broker of its own. Two bystanders are measured first alone,
// then from the attacker's first byte until a second or more after its end. Every part has a time limit,
// because the broker that a row finds may hang.

import PlugboardPosix

/// What one run of a row has measured.
struct SiegeRun: Sendable {
    /// Of each bystander, in the order of `Bystanders.names`.
    var alone: [Waits]
    var attacked: [Waits]
    /// The broker's resident memory before the attack, the most of it meanwhile, and afterwards.
    var memoryBefore: UInt64
    var memoryMost: UInt64
    var memoryAfter: UInt64
    /// Whether the attack was set up in time.
    var isSetUp: Bool
}

/// All runs of a row, or why there are none.
struct SiegeResult: Sendable {
    let row: SiegeRow
    var runs: [SiegeRun] = []
    /// Why a run failed or the row was left out.
    var failure: String?
    var isSkipped = false
}

/// A siege of brokers. Only one thread uses it.
struct Siege {
    private static let samplesNanoseconds: UInt64 = 50_000_000
    var rows = SiegeRows.all
    var runs = 1
    var scale = SiegeScale.full
    /// Whether the brokers keep a journal.
    var keeping = Workload.Keeping.journal
    let programs: Programs
    /// If a signal comes, the siege and its processes end.
    let signals: Signals?

    /// Measures every row, and reports each one. Throws `BenchError.interrupted`.
    func run(tell: (SiegeResult) throws -> Void = { _ in }) throws -> [SiegeResult] {
        _ = OpenFiles.raiseLimit()
        return try rows.map { row in
            let result = try measure(row)
            try tell(result)
            return result
        }
    }

    private func measure(_ row: SiegeRow) throws -> SiegeResult {
        var result = SiegeResult(row: row)
        if row.isStranger, Accounts.ownUser != 0 {
            result.isSkipped = true
            result.failure = "only root can be another user"
            return result
        }
        if row.needsJournal, keeping == .nothing {
            result.isSkipped = true
            result.failure = "it is about the journal"
            return result
        }
        if row.syncMilliseconds > 0, Programs.find(SiegeBroker.tracer) == nil {
            result.isSkipped = true
            result.failure = "it needs \(SiegeBroker.tracer), which makes syncs slow"
            return result
        }
        do {
            for _ in 0..<runs { result.runs.append(try run(row)) }
        } catch BenchError.interrupted {
            throw BenchError.interrupted
        } catch {
            result.failure = "\(error)"
        }
        return result
    }

    private func run(_ row: SiegeRow) throws -> SiegeRun {
        let broker = try SiegeBroker(row, scale, programs, keeping)
        defer { withExtendedLifetime(broker) {} }
        let bystanders = try Bystanders(broker.server, broker.dialect)
        try watch(bystanders, TimeLimit(seconds: scale.attackSeconds)) { false }
        let alone = try bystanders.take()
        let before = try broker.memoryBytes
        var most = before
        var sampled: UInt64 = 0
        let watchMemory = {
            guard MonotonicClock.nanoseconds() > sampled + Self.samplesNanoseconds else { return }
            sampled = MonotonicClock.nanoseconds()
            most = max(most, try broker.memoryBytes)
        }
        let attackSeconds = row.lasts ? scale.attackSeconds * row.length : 0
        let more = max(0, attackSeconds - scale.attackSeconds)
        let limit = TimeLimit(seconds: scale.rowSeconds + more)
        var attacker = try AttackerProcess(row, scale, path: broker.path, programs)
        var isSetUp = false
        try watch(bystanders, TimeLimit(seconds: scale.setUpSeconds)) {
            try watchMemory()
            isSetUp = try attacker.isReady()
            return isSetUp
        }
        try watch(bystanders, TimeLimit(seconds: attackSeconds)) {
            try watchMemory()
            return false
        }
        attacker.kill()
        try watch(bystanders, limit) { attacker.isGone() }
        let end = MonotonicClock.nanoseconds()
        try watch(bystanders, TimeLimit(seconds: scale.returnSeconds)) {
            try watchMemory()
            return false
        }
        let after = try broker.memoryBytes
        try watch(bystanders, limit) { bystanders.areAnswered(since: end) }
        return SiegeRun(
            alone: alone,
            attacked: try bystanders.take(),
            memoryBefore: before,
            memoryMost: max(most, after),
            memoryAfter: after,
            isSetUp: isSetUp
        )
    }

    /// Lets the bystanders go on until `isOver`, but no longer than the limit.
    private func watch(_ bystanders: Bystanders, _ limit: TimeLimit, until isOver: () throws -> Bool) throws {
        try bystanders.watch {
            if signals?.next() != nil { throw BenchError.interrupted }
            return try limit.isOver || isOver()
        }
    }
}
