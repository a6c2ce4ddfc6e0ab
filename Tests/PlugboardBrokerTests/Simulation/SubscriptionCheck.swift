// What one subscription was told, held against all writes: every line is a write that was
// made, revisions never fall, nothing is told twice, and what isn't told one by one is folded
// into the newest with the right count.

/// One subscription under way.
struct SubscriptionCheck {
    private let plan: SubscriptionPlan
    /// The revision of the reply.
    private let start: UInt64
    private let answered: Int
    /// For each key how many of its writes are known to this observer.
    private var known: [String: Int] = [:]
    /// Keys of the snapshot that were not told yet.
    private var awaited: Set<String> = []
    /// Keys that were missed and have to be told before `synced`.
    private var missed: Set<String> = []
    private var isSynced: Bool
    private var lastRevision: UInt64 = 0
    private var emitted: Set<String> = []
    private var lastEmit: [Int: Int] = [:]
    /// Keys of which this observer can't know what it missed.
    private var unknown: Set<String> = []
    /// Something was dropped, as the broker said.
    private var isLagged = false
    /// It may have to wait for other things than room.
    var waits: Bool
    /// Updates may be folded.
    var mayFold: Bool
    /// What there was no room for is read back from the journal, which has no old values.
    private let mayLackOld: Bool

    init(_ plan: SubscriptionPlan, _ reply: Told, _ terms: OrderCheck.Terms, _ log: WriteLog) {
        self.plan = plan
        start = reply.revision ?? 0
        answered = reply.time
        waits = plan.every > 0 || terms.hasPhases
        mayFold = waits || terms.isHeavy || plan.since != nil
        mayLackOld = terms.isHeavy && plan.isAll
        isSynced = !plan.isInitial
        let isResumed = reply.isResumed ?? false
        for key in log.keys.keys where plan.matches(key) {
            let count = log.count(of: key, upTo: start)
            known[key] = count
            if isResumed, let since = plan.since {
                let before = log.count(of: key, upTo: since.revision)
                known[key] = before
                if count > before { missed.insert(key) }
            } else if plan.isInitial, !log.isAbsent(key, after: count) {
                awaited.insert(key)
                unknown.insert(key)
            }
            if reply.isResumed == false { unknown.insert(key) }
        }
    }

    // MARK: Events

    /// Takes what it is told next. What is wrong with it, if anything is.
    mutating func take(_ event: Told, _ log: WriteLog, _ emits: [String: OrderCheck.Emitted]) -> String? {
        switch event.name {
        case "update", "delete": return take(write: event, log)
        case "emit": return take(emit: event, emits)
        case "synced": return takeSynced(event, log)
        case "lagged":
            isLagged = true
            unknown.formUnion(known.keys)
            return nil
        default: return "an event of no known kind: \(event.text)"
        }
    }

    private mutating func take(write event: Told, _ log: WriteLog) -> String? {
        let revision = event.revision ?? 0
        guard plan.matches(event.key) else { return "not asked for: \(event.text)" }
        if revision < lastRevision { return "revisions fall below \(lastRevision): \(event.text)" }
        lastRevision = revision
        guard let place = log.place(of: event.key, at: revision),
            let write = log.write(of: event.key, place), write == Write(event)
        else { return "never was: \(event.text)" }
        let before = known[event.key] ?? 0
        let isFirst = awaited.remove(event.key) != nil
        missed.remove(event.key)
        let isUnknown = unknown.remove(event.key) != nil
        known[event.key] = place
        if event.isInitial {
            if !isFirst || isSynced && !mayFold { return "initial, and not awaited: \(event.text)" }
            return place < before ? "older than the reply: \(event.text)" : nil
        }
        if isUnknown {
            return place < before ? "older than the reply: \(event.text)" : nil
        }
        if place <= before { return "told before: \(event.text)" }
        if plan.since == nil, let complaint = checkOld(event, before, log) { return complaint }
        let skipped = place - before - 1
        if UInt64(skipped) != event.skipped { return "\(skipped) were left out: \(event.text)" }
        if skipped > 0, !mayFold { return "folded without need: \(event.text)" }
        return nil
    }

    /// With `old` comes the value that was told last; nothing where there was none.
    private func checkOld(_ event: Told, _ before: Int, _ log: WriteLog) -> String? {
        if mayLackOld, event.old == nil { return nil }
        let expected = plan.hasOld ? log.write(of: event.key, before)?.value : nil
        return event.old == expected ? nil : "the old value was \(expected ?? "none"): \(event.text)"
    }

    private mutating func takeSynced(_ event: Told, _ log: WriteLog) -> String? {
        if isSynced { return "synced twice" }
        isSynced = true
        let revision = event.revision ?? 0
        if revision < lastRevision { return "revisions fall below \(lastRevision): \(event.text)" }
        lastRevision = revision
        if let key = missed.first { return "\(key) was missed and not told: \(event.text)" }
        guard !awaited.isEmpty else { return nil }
        if !mayFold { return "\(awaited.sorted()) are not in the snapshot: \(event.text)" }
        // They may have been deleted before their turn came.
        for key in awaited where (known[key] ?? 0) == log.keys[key]?.count {
            return "\(key) is not in the snapshot: \(event.text)"
        }
        return nil
    }

    private mutating func take(emit event: Told, _ emits: [String: OrderCheck.Emitted]) -> String? {
        guard plan.matches(event.key), let emit = emits[event.value], emit.key == event.key,
            emit.by == event.by
        else { return "never was: \(event.text)" }
        if !emitted.insert(event.value).inserted { return "told twice: \(event.text)" }
        if emit.begun < lastEmit[emit.connection] ?? 0 { return "emits out of order: \(event.text)" }
        lastEmit[emit.connection] = emit.begun
        let revision = event.revision ?? 0
        if revision < lastRevision { return "revisions fall below \(lastRevision): \(event.text)" }
        lastRevision = revision
        return nil
    }

    // MARK: Barriers

    /// What it had to be told up to a revision and wasn't.
    func missing(upTo revision: UInt64, _ log: WriteLog) -> [String] {
        if isLagged { return [] }
        return known.compactMap { key, place in
            let count = log.count(of: key, upTo: revision)
            // What waited and was written once more is owed as what it is now.
            if mayFold, count < log.keys[key]?.count ?? 0 { return nil }
            let isAbsent = log.isAbsent(key, after: count)
            if awaited.contains(key) { return isAbsent ? nil : "\(key) of the snapshot is missing" }
            guard place < count else { return nil }
            if isAbsent, log.isAbsent(key, after: place) || unknown.contains(key) { return nil }
            return "\(plan.sub) lacks \(log.write(of: key, count).map { "\($0)" } ?? key)"
        }
    }

    /// Whether an emit had to be told by now.
    func missing(emit value: String, _ emits: [String: OrderCheck.Emitted]) -> String? {
        guard let emit = emits[value], plan.matches(emit.key), !isLagged, emit.begun > answered,
            !emitted.contains(value)
        else { return nil }
        return "\(plan.sub) lacks the emit \(value)"
    }

    /// Emits that had been answered before a moment, and are missing.
    func missingEmits(before moment: Int, _ emits: [String: OrderCheck.Emitted]) -> [String] {
        emits.compactMap { value, emit in emit.ended < moment ? missing(emit: value, emits) : nil }
    }
}
