// Compares what one subscription was told with all writes. Every line is a write that was made, and that
// the subscription asked for. Revisions never fall. Nothing is told twice. What isn't told line by line
// is folded into the newest update, with the right count.

/// The state of the check for one subscription.
struct SubscriptionCheck {
    let plan: SubscriptionPlan
    /// The revision in the reply.
    private let start: UInt64
    /// When it was asked for and answered. It has begun somewhere between them.
    private let (asked, answered): (Int, Int)
    /// How many writes of each key this observer knows.
    private var known: [String: Int] = [:]
    /// Keys of the snapshot that haven't come yet.
    private var awaited: Set<String> = []
    /// Keys that were missed and must come before `synced`.
    private var missed: Set<String> = []
    private var isSynced: Bool
    private var lastRevision: UInt64 = 0
    /// Where a client may resume after `synced`.
    private var place: UInt64 = 0
    private var emitted: Set<String> = []
    private var lastEmit: [Int: (begun: Int, place: Int)] = [:]
    /// The last event of a batch.
    private var lastOfBatch: (revision: UInt64, place: Int) = (0, 0)
    /// The place of the write with which each key left or was deleted.
    private var left: [String: Int] = [:]
    private var toldAt: [String: UInt64] = [:]
    /// Keys for which this observer can't know what it missed.
    private var unknown: Set<String> = []
    /// Keys that a policy showed to it at some times and hid at others.
    private var fickle: Set<String> = []
    private var sent: [String: String] = [:]
    /// Whether the broker has said that it dropped something.
    private var isLagged = false
    var isPaused = false
    /// Whether events may have to wait for something else than room.
    var waits: Bool { isPaused || plan.every > 0 || hasPhases }
    private let hasPhases: Bool
    private let batches: BatchPlaces
    /// Whether updates may be folded.
    var mayFold: Bool
    /// Whether events without room are read back from the journal, which has no old values.
    private let isReadBack: Bool
    /// Whether rights may have changed, so that values may come with all parts, and keys may leave that weren't there.
    private var mayBeWhole: Bool { policyCount > 0 }
    private let policyCount: Int
    /// How often each key was told as one that this observer may have missed. Each policy may be followed by one such line.
    private var retold: [String: Int] = [:]
    private let log: WriteLog
    /// Whether this observer may see a key.
    private let sight: (String) -> PolicySequence.Verdict

    /// Which parts of a value a line must have if it doesn't follow from the line before.
    private enum Form {
        /// All parts that exist.
        case initial
        /// All parts that exist, and the others as gone.
        case missed
        /// Any parts, if they are right.
        case open
    }

    private var narrowing: Narrowing { plan.narrowing ?? Narrowing() }

    init(
        _ plan: SubscriptionPlan,
        asked: Int,
        _ reply: Told,
        _ terms: OrderCheck.Terms,
        _ log: WriteLog,
        _ sight: @escaping (String) -> PolicySequence.Verdict
    ) {
        self.plan = plan
        self.log = log
        self.sight = sight
        start = reply.revision ?? 0
        (self.asked, answered) = (asked, reply.time)
        hasPhases = terms.hasPhases
        batches = terms.batches
        let mayBeBehind = terms.isHeavy || terms.isHurried
        mayFold = plan.every > 0 || terms.hasPhases && plan.phase > 0 || mayBeBehind || plan.since != nil
        isReadBack = terms.isHeavy && plan.isAll
        policyCount = terms.policies.count
        isSynced = !plan.isInitial
        for key in log.keys.keys where plan.matches(key) && sight(key) != .never { begin(key, reply) }
    }

    private mutating func begin(_ key: String, _ reply: Told) {
        let count = log.count(of: key, upTo: start)
        let since = reply.isResumed == true ? plan.since : nil
        let before = since.map { log.count(of: key, upTo: $0.revision) } ?? count
        known[key] = before
        if sight(key) == .varies {
            fickle.insert(key)
            unknown.insert(key)
        } else if since != nil {
            if count > before { missed.insert(key) }
        } else if plan.isInitial, plan.telling(from: nil, to: log.write(of: key, count)?.value) == .update {
            awaited.insert(key)
            unknown.insert(key)
        }
        if reply.isResumed == false { unknown.insert(key) }
    }

    // MARK: Events

    /// Takes the next event. Returns what is wrong with it; nil if nothing is.
    mutating func take(_ event: Told, _ emits: [String: OrderCheck.Emitted]) -> String? {
        switch event.name {
        case "update", "delete", "leave": return take(write: event)
        case "emit": return take(emit: event, emits)
        case "synced": return takeSynced(event)
        case "lagged":
            isLagged = true
            unknown.formUnion(known.keys)
            sent = [:]
            return nil
        default: return "an event of no known kind: \(event.text)"
        }
    }

    /// Keys that came as `initial`, each with its revision.
    private var initials: Set<String> = []

    private mutating func take(write event: Told) -> String? {
        let revision = event.revision ?? 0
        guard plan.matches(event.key) else { return "not asked for: \(event.text)" }
        if revision < lastRevision { return "revisions fall below \(lastRevision): \(event.text)" }
        if revision <= self.place { return "synced said that up to \(self.place) all came: \(event.text)" }
        lastRevision = revision
        guard let place = log.place(of: event.key, at: revision),
            let write = log.write(of: event.key, place), isTold(write, by: event)
        else { return "never was: \(event.text)" }
        toldAt[event.key] = event.at
        if let complaint = checkBatch(event, batches.place(of: event.key, at: revision)) { return complaint }
        if let complaint = checkLeave(event, place) { return complaint }
        let before = known[event.key] ?? 0
        let isFirst = awaited.remove(event.key) != nil
        let isMissed = missed.remove(event.key) != nil || plan.isReadBackAtFirst && revision <= start
        let isUnknown = fickle.contains(event.key) || unknown.remove(event.key) != nil
        known[event.key] = place
        defer { sent[event.key] = event.name == "update" ? write.value : nil }
        if event.isInitial {
            let isExpected = isFirst || fickle.contains(event.key) || plan.narrowing != nil && mayFold
            if !isExpected || isSynced && !mayFold { return "initial, and not awaited: \(event.text)" }
            let isNew = initials.insert("\(event.key) \(revision)").inserted
            if !isNew, !fickle.contains(event.key) { return "told twice: \(event.text)" }
        }
        if event.isInitial || isUnknown {
            if place < before { return "older than the reply: \(event.text)" }
            return checkForm(event, write, event.isInitial ? .initial : .open)
        }
        if place <= before { return "told before: \(event.text)" }
        let base = place - 1 - Int(clamping: event.skipped)
        if let complaint = checkFolds(event, from: before, base: base) { return complaint }
        if isMissed { return checkForm(event, write, .missed) }
        if isReadBack, plan.narrowing != nil { return checkForm(event, write, .open) }
        return checkTelling(event, write, base: base)
    }

    /// Checks that live events of one batch come in the order of its writes.
    private mutating func checkBatch(_ event: Told, _ place: Int?) -> String? {
        guard let revision = event.revision, revision > start, let place else { return nil }
        defer { lastOfBatch = (revision, place) }
        guard lastOfBatch.revision == revision, place < lastOfBatch.place else { return nil }
        return "its batch has it further to the front: \(event.text)"
    }

    /// Checks that a key leaves only once, until it matches again.
    private mutating func checkLeave(_ event: Told, _ place: Int) -> String? {
        guard event.name != "update" else { return nil }
        let before = left.updateValue(place, forKey: event.key)
        guard event.name == "leave", let before, !fickle.contains(event.key), !isLagged, !isReadBack,
            retold[event.key, default: 0] >= policyCount,
            !((before + 1)..<max(place, before + 1)).contains(where: {
                narrowing.holds(for: log.write(of: event.key, $0)?.value)
            })
        else { return nil }
        return "it had left: \(event.text)"
    }

    private func isTold(_ write: Write, by event: Told) -> Bool {
        write.key == event.key && write.by == event.by && write.reason == event.reason
            && write.origin == event.origin && event.when == (plan.hasWhen ? write.when : "")
            && (write.value == nil) == (event.name == "delete")
    }

    private func checkFolds(_ event: Told, from before: Int, base: Int) -> String? {
        let skipped = event.revision.flatMap { log.place(of: event.key, at: $0) }.map { $0 - before - 1 } ?? 0
        let isFilter = plan.narrowing != nil
        if base != before, !isFilter { return "\(skipped) were left out: \(event.text)" }
        if event.skipped > 0, !mayFold { return "folded without need: \(event.text)" }
        if isReadBack, isFilter { return nil }
        guard base >= before, isSilent(event.key, from: before, to: base) else {
            return "something was left out between \(before) and \(base): \(event.text)"
        }
        return nil
    }

    /// Checks the parts of a line that doesn't follow from what the observer was told before.
    private func checkForm(_ event: Told, _ write: Write, _ form: Form) -> String? {
        guard let value = write.value else { return nil }
        guard narrowing.holds(for: value) == (event.name == "update") else { return notDue(event) }
        guard event.name == "update" else { return nil }
        guard case .parts(let names) = narrowing.shown else {
            return objection(event, from: nil, to: value)
        }
        let all = narrowing.all(names, of: value)
        let isRight =
            switch form {
            case .initial: event.changes == Narrowing.Changes(parts: all.parts, gone: [])
            case .missed: event.changes == all
            case .open:
                event.changes.gone.isSubset(of: all.gone)
                    && event.changes.parts.allSatisfy { all.parts[$0.key] == $0.value }
            }
        return isRight ? nil : notDue(event)
    }

    private func objection(_ event: Told, from old: String?, to value: String) -> String? {
        narrowing.objection(to: event, from: old, value: value, sent: sent[event.key], mayBeWhole: mayBeWhole)
            .map { "\($0), and it was told \(event.text)" }
    }

    /// Checks an event with the filter's own definition.
    private mutating func checkTelling(_ event: Told, _ write: Write, base: Int) -> String? {
        let old = log.write(of: event.key, base)?.value
        let due = plan.telling(from: old, to: write.value)
        // If rights have changed, values come with all parts, even if no part is different.
        let isWhole = mayBeWhole && !plan.showsValues && due == .nothing && narrowing.holds(for: write.value)
        let isMissed =
            due == .nothing && !narrowing.holds(for: write.value) && event.name != "update"
            && retold[event.key, default: 0] < policyCount
        if isMissed { retold[event.key, default: 0] += 1 }
        guard due.rawValue == event.name || isWhole && event.name == "update" || isMissed else {
            return notDue(event)
        }
        if plan.since == nil, !(isReadBack && event.old == nil), event.old != (plan.hasOld ? old : nil) {
            return "the old value was \(old ?? "none"): \(event.text)"
        }
        guard event.name == "update", let value = write.value else { return nil }
        return objection(event, from: old, to: value)
    }

    private func notDue(_ event: Told) -> String {
        "not what was asked for, \(plan.fields): \(event.text)"
    }

    /// Whether nothing had to be told between two places of a key, because each write by itself has no
    /// event for this observer, or several that waited have none together.
    private func isSilent(_ key: String, from first: Int, to last: Int) -> Bool {
        guard first < last else { return first == last }
        var isReached = [true] + [Bool](repeating: false, count: last - first)
        for end in 1...(last - first) {
            let begins = mayFold ? 0 : end - 1
            isReached[end] = (begins..<end).contains { begin in
                isReached[begin]
                    && plan.isSilent(
                        from: log.write(of: key, first + begin)?.value,
                        to: log.write(of: key, first + end)?.value
                    )
            }
        }
        return isReached[last - first]
    }

    private mutating func takeSynced(_ event: Told) -> String? {
        if isSynced { return "synced twice" }
        isSynced = true
        let (revision, least) = (event.revision ?? 0, max(start, lastRevision))
        if revision < least { return "revisions fall below \(least): \(event.text)" }
        place = revision > lastRevision ? revision : max(revision, 1) - 1
        lastRevision = revision
        if let key = missed.first { return "\(key) was missed and not told: \(event.text)" }
        guard !awaited.isEmpty else { return nil }
        if !mayFold { return "\(awaited.sorted()) are not in the snapshot: \(event.text)" }
        let lost = awaited.first { !mayHaveGone($0) }
        return lost.map { "\($0) is not in the snapshot: \(event.text)" }
    }

    /// Whether a key of the snapshot may have been deleted, or changed so that it isn't asked for, before its turn came.
    private func mayHaveGone(_ key: String) -> Bool {
        let (first, last) = (known[key] ?? 0, log.keys[key]?.count ?? 0)
        return (first...max(first, last)).contains {
            plan.telling(from: nil, to: log.write(of: key, $0)?.value) != .update
        }
    }

    private mutating func take(emit event: Told, _ emits: [String: OrderCheck.Emitted]) -> String? {
        guard plan.matches(event.key), let (name, emit) = emitted(by: event, emits) else {
            return "never was, or is not what was asked for, \(plan.fields): \(event.text)"
        }
        if !emitted.insert(name).inserted { return "told twice: \(event.text)" }
        let last = lastEmit[emit.connection] ?? (0, 0)
        if (emit.begun, emit.place) < last { return "emits out of order: \(event.text)" }
        lastEmit[emit.connection] = (emit.begun, emit.place)
        toldAt[event.key] = event.at
        if plan.showsValues, emit.isOfBatch, let complaint = checkBatch(event, emit.place) {
            return complaint
        }
        let revision = event.revision ?? 0
        if revision < lastRevision { return "revisions fall below \(lastRevision): \(event.text)" }
        lastRevision = revision
        return nil
    }

    /// The emit of a line. Without a value, the oldest one that it may be.
    private func emitted(
        by event: Told, _ emits: [String: OrderCheck.Emitted]
    ) -> (String, OrderCheck.Emitted)? {
        func fits(_ value: String, _ emit: OrderCheck.Emitted) -> Bool {
            guard emit.key == event.key, emit.by == event.by, emit.isWill == (event.reason == "will"),
                emit.isWill || emit.begun < event.time
            else { return false }
            return narrowing.tells(event: value)
                && narrowing.objection(to: event, from: nil, value: value, sent: nil) == nil
        }
        if let emit = emits[event.value] { return fits(event.value, emit) ? (event.value, emit) : nil }
        guard !plan.showsValues else { return nil }
        let candidates = emits.filter { value, emit in
            fits(value, emit) && !emitted.contains(value)
                && (emit.begun, emit.place) >= lastEmit[emit.connection] ?? (0, 0)
        }
        return candidates.min { ($0.value.begun, $0.value.place) < ($1.value.begun, $1.value.place) }.map {
            ($0.key, $0.value)
        }
    }

    // MARK: Barriers

    /// What had to be told up to a revision and wasn't.
    func missing(upTo revision: UInt64) -> [String] {
        if isLagged { return [] }
        return known.compactMap { key, place in
            let count = log.count(of: key, upTo: revision)
            // If a key waits and is written again, only its newest value is owed.
            if fickle.contains(key) || mayFold && count < log.keys[key]?.count ?? 0 { return nil }
            let value = log.write(of: key, count)?.value
            if awaited.contains(key) {
                let isGone = plan.telling(from: nil, to: value) != .update
                return isGone && (mayFold || value == nil) ? nil : "\(key) of the snapshot is missing"
            }
            guard place < count else { return nil }
            // A snapshot has no key whose value isn't asked for. If it waits and is deleted, it has never existed.
            if mayFold, plan.isInitial, plan.narrowing != nil, value == nil, toldAt[key] == nil { return nil }
            if unknown.contains(key), plan.narrowing != nil || value == nil { return nil }
            if isReadBack && plan.narrowing != nil || isSilent(key, from: place, to: count) { return nil }
            return "\(plan.sub) lacks \(log.write(of: key, count).map { "\($0)" } ?? key)"
        }
    }

    /// Keys that `every` holds back, although neither they nor keys before them came lately. `moment` is
    /// the time of a request that is answered with this revision.
    func heldWithoutReason(
        upTo revision: UInt64, at moment: UInt64, _ emits: [String: OrderCheck.Emitted]
    ) -> [String] {
        guard plan.every > 0, !isPaused, !hasPhases else { return [] }
        // The broker may remember a key a little longer than necessary.
        let span = 4 * UInt64(plan.every) * 1_000_000
        func isRecent(_ key: String) -> Bool { toldAt[key].map { $0 + span > moment } ?? false }
        let mayHold =
            known.contains { key, place in isRecent(key) && place < log.count(of: key, upTo: revision) }
            || emits.contains { value, emit in
                isRecent(emit.key) && plan.matches(emit.key) && emit.ended > asked
                    && !emitted.contains(value)
            }
        return mayHold ? [] : missing(upTo: revision).map { "held without a reason: \($0)" }
    }

    /// Why an emit should have come by now; nil if it needn't have.
    func missing(emit value: String, _ emits: [String: OrderCheck.Emitted]) -> String? {
        guard let emit = emits[value], plan.matches(emit.key), !isLagged, emit.begun > answered,
            !emitted.contains(value), plan.showsValues, plan.narrowing?.tells(event: value) ?? true,
            sight(emit.key) == .always
        else { return nil }
        return "\(plan.sub) lacks the emit \(value)"
    }

    /// Emits that were answered before a moment and are missing.
    func missingEmits(before moment: Int, _ emits: [String: OrderCheck.Emitted]) -> [String] {
        emits.compactMap { value, emit in emit.ended < moment ? missing(emit: value, emits) : nil }
    }
}

extension Told {
    fileprivate var changes: Narrowing.Changes { Narrowing.Changes(parts: parts ?? [:], gone: Set(gone)) }
}

extension SubscriptionPlan {
    /// The event for a change.
    func telling(from old: String?, to new: String?) -> Narrowing.FilterResult {
        if let narrowing { return narrowing.telling(from: old, to: new) }
        return new == nil ? .delete : .update
    }

    /// Whether a change may have no event: also if there was no value before and after it, because a key
    /// came and went while the observer waited.
    func isSilent(from old: String?, to new: String?) -> Bool {
        old == nil && new == nil || telling(from: old, to: new) == .nothing
    }

    /// Whether its lines have values, by which writes can be recognized.
    var showsValues: Bool {
        switch narrowing?.shown {
        case nil, .value, .difference: true
        case .nothing, .parts: false
        }
    }

    /// Whether everything that it missed comes line by line, as for an observer that may have any earlier
    /// value.
    var isReadBackAtFirst: Bool { since != nil && isAll }
}
