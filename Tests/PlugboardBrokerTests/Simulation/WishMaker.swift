// Decides what a client asks next, from what it was told so far: revisions for `if`, subscriptions to
// pause, and after a break subscriptions to resume.

import TestSupport

/// The memory and the random choices of one client.
struct WishMaker {
    private struct Live {
        var plan: SubscriptionPlan
        /// The revision up to which everything was told.
        var known: UInt64?
        /// The revision of the newest line.
        var newest: UInt64 = 0
    }

    private var revisions: [String: UInt64] = [:]
    private var live: [Live] = []
    /// Subscriptions of a connection that has ended, and where they resume.
    private(set) var forgone: [SubscriptionPlan] = []
    var paused: [String] = []
    private var epoch = ""
    private var made = 0
    /// What it asks next, in order.
    private var planned: [Wish] = []
    /// Calls that it will answer later, or never.
    private var duties: [String] = []
    private var services: [String] = []

    mutating func next(of name: String, _ chance: Chance, _ habits: Habits) -> Wish {
        made += 1
        let key = chance.pick(habits.features.keys)
        let plain = "\"\(name)-\(made)-\(String.filler("x", habits.padding))\""
        if habits.isVaried, chance.isOne(in: 4), let wish = rare(plain, key, chance, habits) { return wish }
        let value = habits.features.hasFilters ? Self.value(plain, chance, habits.features) : plain
        if let wish = first(value, name, chance, habits) { return wish }
        if habits.features.hasShortPauses, habits.hasWindows, let wish = shortPause(key, value, chance) {
            return wish
        }
        switch chance.below(100) {
        case 0..<18: return .publish(key: key, value: value, condition: nil)
        case 18..<21: return .bind(key: key, value: value, .connection)
        case 21..<24: return .bind(key: key, value: value, .time(1 + chance.below(300)))
        case 24..<38: return .publish(key: key, value: value, condition: revisions[key] ?? 0)
        case 38..<56: return .get(key: key)
        case 56..<61: return .delete(key: key, condition: nil)
        case 61..<64: return .delete(key: key, condition: max(1, revisions[key] ?? 1))
        case 64..<68: return .patch(key: key, value: plain)
        case 68..<74: return batch(key, value, chance, habits)
        case 74..<80: return .emit(key: key, value: value)
        case 80:
            return .look("explain", #","write":{"op":"publish","key":"\#(key)","value":\#(value)}"#)
        case 81: return .look(chance.pick(["who", "why"]), #","key":"\#(key)""#)
        case 82..<84: return .sync
        case 84..<93: return subscribe(name, chance, habits)
        default: return control(chance) ?? .sync
        }
    }

    /// What it asks first for long snapshots: it writes each key, and subscribes while others still write them.
    private mutating func first(_ value: String, _ name: String, _ chance: Chance, _ habits: Habits) -> Wish?
    {
        let keys = habits.features.keys
        guard habits.features.hasLongSnapshots else { return nil }
        if made <= keys.count { return .publish(key: keys[made - 1], value: value, condition: nil) }
        return made <= keys.count + 2 ? subscribe(name, chance, habits) : nil
    }

    /// Now and then pauses a subscription with `every` for one write, and then asks what it was told.
    private mutating func shortPause(_ key: String, _ value: String, _ chance: Chance) -> Wish? {
        if planned.isEmpty, chance.isOne(in: 8), let sub = live.first(where: { $0.plan.every > 0 })?.plan.sub,
            !paused.contains(sub)
        {
            planned = [
                .pause(sub), .publish(key: key, value: value, condition: nil), .resume(sub), .sync,
            ]
        }
        guard !planned.isEmpty else { return nil }
        let wish = planned.removeFirst()
        if case .pause(let sub) = wish { paused.append(sub) }
        if case .resume(let sub) = wish { paused.removeAll { $0 == sub } }
        return wish
    }

    /// Requests that only some worlds have.
    private mutating func rare(_ value: String, _ key: String, _ chance: Chance, _ habits: Habits) -> Wish? {
        let wished = chance.below(8)
        if habits.features.hasCalls, wished < 5 { return call(value, chance) }
        guard habits.features.hasFarewells, wished >= 4 else { return nil }
        switch chance.below(8) {
        case 0: return .goodbye
        case 1: return .forgetWill
        default: return .will(key: key, value: value, isEvent: chance.isOne(in: 3))
        }
    }

    private mutating func call(_ value: String, _ chance: Chance) -> Wish {
        switch chance.below(8) {
        case 0..<2:
            let pattern = chance.pick(["s.a", "s.b", "s.*", "s.**"])
            services.append(pattern)
            return .serve(pattern)
        case 2 where !services.isEmpty: return .unserve(chance.pick(services))
        case 3 where !duties.isEmpty:
            return Self.answer(duties.remove(at: chance.below(duties.count)), chance)
        default:
            let timeout = chance.isOne(in: 3) ? nil : 1 + chance.below(200)
            return .call(key: chance.pick(["s.a", "s.b", "s.c"]), value: value, timeout: timeout)
        }
    }

    private static func answer(_ call: String, _ chance: Chance) -> Wish {
        let isError = chance.isOne(in: 4)
        return .answer(
            call: call, value: isError ? nil : "\"re-\(call)-\(chance.below(1_000))\"", code: "no_\(call)"
        )
    }

    /// What a client does with a call: answers at once, or later, perhaps twice, or never.
    mutating func response(to call: Told, _ chance: Chance) -> Wish? {
        let whim = chance.below(10)
        if whim < 4 { duties.append(call.call) }
        return (3..<9).contains(whim) ? Self.answer(call.call, chance) : nil
    }

    /// A value with parts, and now and then one without. If it has few different parts, these meet most conditions.
    private static func value(_ plain: String, _ chance: Chance, _ features: Features) -> String {
        guard !chance.isOne(in: 7) else { return plain }
        let number = features.hasLongSnapshots ? chance.pick([3, 5]) : chance.below(8)
        let spelled = chance.pick(["\(number)", "\(number)", "\(number).0", "\(number)e0"])
        let text = chance.pick(["", #","t":"a""#, #","t":"ab""#, #","t":"b""#])
        let rest = chance.isOne(in: 8) ? "" : #","rest":"what stays as it was, and is long""#
        return #"{"n":\#(spelled)\#(text),"id":\#(plain)\#(rest)}"#
    }

    private static func narrowing(_ chance: Chance, _ features: Features) -> Narrowing {
        let condition = chance.isOne(in: 4) ? nil : chance.pick(Narrowing.Condition.allCases)
        let shown: [Narrowing.Shown] = [
            .value, .value, .nothing, .parts(["/n"]), .parts(["/n", "/t"]), .parts(["/t"]), .difference,
            .difference,
        ]
        if features.hasLongSnapshots, chance.isOne(in: 2) { return Narrowing(shown: .parts(["/n"])) }
        return Narrowing(condition: condition, shown: chance.pick(shown))
    }

    private func batch(_ key: String, _ value: String, _ chance: Chance, _ habits: Habits) -> Wish {
        let other = chance.pick(habits.features.keys.filter { $0 != key })
        var parts = [
            Wish.Part(key: key, value: value),
            Wish.Part(key: other, value: value.replacing("-", with: "+")),
        ]
        guard habits.features.hasMixedBatches else { return .batch(parts) }
        for mark in ["=", "~"] where !chance.isOne(in: 3) {
            let emit = Wish.Part(
                key: chance.pick(habits.features.keys), value: value.replacing("-", with: mark), isEvent: true
            )
            parts.insert(emit, at: chance.below(parts.count + 1))
        }
        return .batch(parts)
    }

    private mutating func subscribe(_ name: String, _ chance: Chance, _ habits: Habits) -> Wish {
        guard live.count < 3 else { return .sync }
        let patterns = [["k.*"], ["**"], ["k.0"], ["k.1", "other"], ["k.*", "k.1"]]
        var plan = SubscriptionPlan(sub: "\(name)s\(made)", patterns: chance.pick(patterns))
        plan.isInitial = !chance.isOne(in: 4)
        plan.isAll = chance.isOne(in: 4)
        plan.hasOld = chance.isOne(in: 4)
        plan.hasWhen = chance.isOne(in: 2)
        if habits.hasWindows, chance.isOne(in: 2) { plan.every = 1 + chance.below(50) }
        if habits.hasPhases {
            plan.phase = chance.below(10)
            plan.acknowledges = chance.isOne(in: 2)
        }
        if habits.features.hasFilters, !chance.isOne(in: 4) {
            plan.narrowing = Self.narrowing(chance, habits.features)
        }
        live.append(Live(plan: plan))
        return .subscribe(plan)
    }

    private mutating func control(_ chance: Chance) -> Wish? {
        guard !live.isEmpty else { return nil }
        let sub = chance.pick(live).plan.sub
        switch chance.below(4) {
        case 0:
            live.removeAll { $0.plan.sub == sub }
            paused.removeAll { $0 == sub }
            return .unsubscribe(sub)
        case 1 where !paused.contains(sub):
            paused.append(sub)
            return .pause(sub)
        case 2 where paused.contains(sub): return .step(sub)
        default:
            guard paused.contains(sub) else { return nil }
            paused.removeAll { $0 == sub }
            return .resume(sub)
        }
    }

    /// Subscribes as soon as there is a connection.
    mutating func plan(_ plan: SubscriptionPlan) {
        forgone.append(plan)
    }

    // MARK: What it learns

    mutating func learn(_ event: Told) {
        if event.name == "hello" { epoch = event.epoch }
        guard let revision = event.revision, let place = live.firstIndex(where: { $0.plan.sub == event.sub })
        else { return }
        if event.name == "update" || event.name == "leave" { revisions[event.key] = revision }
        if event.name == "delete" { revisions[event.key] = 0 }
        let isNewer = revision > live[place].newest
        live[place].newest = revision
        if event.name == "synced" {
            live[place].known = isNewer ? revision : max(revision, 1) - 1
        } else if let known = live[place].known, revision > 0 {
            // The rest of the batch may be missing.
            live[place].known = max(known, revision - 1)
        }
    }

    mutating func learn(_ reply: Told, of wish: Wish) {
        switch wish {
        case .subscribe(let plan): begin(plan, reply)
        case .get(let key): revisions[key] = reply.kind == .done ? reply.revision : 0
        case .publish(let key, _, _), .patch(let key, _), .delete(let key, _), .bind(let key, _, _):
            if let revision = reply.revision { revisions[key] = revision }
        default: break
        }
    }

    /// A snapshot is known completely or not at all. Without a snapshot, everything is known from the
    /// beginning.
    private mutating func begin(_ plan: SubscriptionPlan, _ reply: Told) {
        guard let place = live.firstIndex(where: { $0.plan.sub == plan.sub }) else { return }
        if reply.kind == .refused {
            live.remove(at: place)
        } else if !plan.isInitial {
            live[place].known = reply.revision
        } else if reply.isResumed == false {
            live[place].known = nil
        }
    }

    func acknowledgement(of event: Told, _ chance: Chance) -> Wish? {
        guard let one = live.first(where: { $0.plan.sub == event.sub }), one.plan.acknowledges,
            ["update", "delete", "leave"].contains(event.name), let revision = event.revision,
            !chance.isOne(in: 5)
        else { return nil }
        return .acknowledge(event.sub, revision)
    }

    /// Notes that the connection has ended.
    mutating func forgo() {
        forgone += live.compactMap { one in
            guard let known = one.known else { return nil }
            var plan = one.plan
            plan.since = (known, epoch)
            plan.isInitial = true
            return plan
        }
        live = []
        paused = []
        duties = []
        services = []
        planned = []
    }

    /// Notes that there is no broker to subscribe at.
    mutating func giveUp() {
        forgone = []
    }

    mutating func takeForgone() -> [SubscriptionPlan] {
        defer { forgone = [] }
        for plan in forgone { live.append(Live(plan: plan, known: plan.since?.revision)) }
        return forgone
    }
}
