// Mistakes with filters, calls, values and wills that end by themselves, and the policy. The check for
// that must find each of them, so its complaint is named.

import PlugboardWire

extension Mutation {
    /// A part of the complaint that must be made; empty if any complaint will do.
    var complaint: String {
        switch self {
        case .unwantedEvent, .leaveForUpdate: "not what was asked for"
        case .lostLeave: "lacks"
        case .secondLeave: "it had left"
        case .swappedBatch: "its batch has it further to the front"
        case .wrongPart: "the parts are"
        case .wrongPatch: "does not give"
        case .lostAnswer: "0 answers"
        case .secondAnswer: "2 answers"
        case .wrongAnswer: "nobody who was asked said so"
        case .answerOfNobody: "somebody was asked"
        case .earlyTimeout: "too early"
        case .earlyWill: "a will before"
        case .lostWill: "its will was not made"
        case .willAfterGoodbye: "not the will"
        case .earlyExpiry: "ended before its time"
        case .toldAfterReload: "may not be told that"
        case .doneThoughForbidden: "done, though"
        case .refusedThoughPermitted: "refused, though"
        default: ""
        }
    }

    // MARK: Filters

    func misfilter(_ recording: Recording, _ chance: Chance) -> Bool {
        switch self {
        case .lostLeave:
            // An observer that resumed, or reads slowly, may get a `leave` for a key that it never had.
            let resumed = resumedSubs(recording)
            let updates = places(recording) { $0.name == "update" }.map { "\($0.told.sub) \($0.told.key)" }
            return recording.terms.policies.isEmpty
                && drop(recording, chance) {
                    $0.name == "leave" && !resumed.contains($0.sub) && updates.contains("\($0.sub) \($0.key)")
                }
        case .secondLeave:
            return tellSecondLeave(recording, chance)
        case .leaveForUpdate:
            return edit(recording, chance, { $0.name == "leave" }) {
                $0.conversation.told[$0.index].name = "update"
            }
        case .wrongPart:
            return change(recording, chance, { $0.parts?["/n"] != nil }) { $0.parts?["/n"] = "99" }
        case .wrongPatch:
            return change(recording, chance, { $0.patch != nil }) { $0.patch = #"{"n":99}"# }
        default: return tellUnwanted(recording, chance)
        }
    }

    /// Changes an event of a subscription that isn't resumed and has got the key before.
    private func change(
        _ recording: Recording, _ chance: Chance, _ isMeant: (Told) -> Bool, _ change: (inout Told) -> Void
    ) -> Bool {
        let places = places(recording) {
            $0.kind == .event && $0.name == "update" && !$0.isInitial && isMeant($0)
        }
        .filter { place in
            plan(of: place.told.sub, in: place.conversation)?.since == nil
                && place.conversation.told[..<place.index].contains {
                    $0.sub == place.told.sub && $0.key == place.told.key
                } && recording.terms.policies.isEmpty
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        change(&place.conversation.told[place.index])
        return true
    }

    private func resumedSubs(_ recording: Recording) -> [String] {
        recording.conversations.flatMap(\.asked).compactMap { asked in
            guard case .subscribe(let plan) = asked.wish, plan.since != nil else { return nil }
            return plan.sub
        }
    }

    private func plan(of sub: String, in conversation: Conversation) -> SubscriptionPlan? {
        for asked in conversation.asked {
            if case .subscribe(let plan) = asked.wish, plan.sub == sub { return plan }
        }
        return nil
    }

    /// Sends an observer a write that its filter leaves out, in the place where it would have come.
    private func tellUnwanted(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) { $0.kind == .event && $0.name == "leave" }.filter {
            unwanted(behind: $0, recording) != nil
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        guard let event = unwanted(behind: place, recording) else { return false }
        place.conversation.told.insert(event, at: place.index + 1)
        return true
    }

    private func unwanted(behind place: Place, _ recording: Recording) -> Told? {
        let (told, conversation, log) = (place.told, place.conversation, recording.log)
        guard let plan = plan(of: told.sub, in: conversation), let narrowing = plan.narrowing,
            plan.since == nil,
            narrowing.condition != nil, recording.terms.policies.isEmpty,
            let before = log.place(of: told.key, at: told.revision ?? 0),
            let write = log.write(of: told.key, before + 1), let value = write.value,
            narrowing.telling(from: log.write(of: told.key, before)?.value, to: value) == .nothing
        else { return nil }
        let next = conversation.told[(place.index + 1)...].first { $0.sub == told.sub && $0.kind == .event }
        guard next?.revision ?? .max > write.revision else { return nil }
        var event = told
        (event.revision, event.value, event.by, event.reason) = (
            write.revision, value, write.by, write.reason
        )
        event.origin = write.origin
        event.when = plan.hasWhen ? write.when : ""
        (event.name, event.skipped, event.old) = (
            "update", 0, plan.hasOld ? log.write(of: told.key, before)?.value : nil
        )
        return event
    }

    /// Sends a `leave` for a write after a delete, although the key didn't match before.
    private func tellSecondLeave(_ recording: Recording, _ chance: Chance) -> Bool {
        // Who was told of a gap may have been told anything in it.
        let places = places(recording) { $0.kind == .event && $0.name == "delete" }.filter { place in
            !recording.terms.isHeavy && !place.conversation.told.contains { $0.name == "lagged" }
        }.compactMap { place in unwanted(behind: place, recording).map { (place, $0) } }
        guard !places.isEmpty else { return false }
        let (place, told) = chance.pick(places)
        var event = told
        (event.name, event.value, event.old) = ("leave", "", nil)
        place.conversation.told.insert(event, at: place.index + 1)
        return true
    }

    /// Swaps an emit and a write of one batch.
    func swapBatch(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) { $0.kind == .event && $0.name == "emit" }.filter { place in
            guard place.index > 0, plan(of: place.told.sub, in: place.conversation)?.showsValues == true
            else {
                return false
            }
            let before = place.conversation.told[place.index - 1]
            return before.name == "update" && before.sub == place.told.sub
                && before.revision == place.told.revision && !before.isInitial
                && recording.conversations.contains { conversation in
                    conversation.asked.contains { asked in
                        asked.reply?.kind == .done && asked.wish.writes.contains { $0.key == before.key }
                            && asked.reply?.revision == before.revision
                            && asked.wish.emits.contains { $0.value == place.told.value }
                    }
                }
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        place.conversation.told.swapAt(place.index, place.index - 1)
        return true
    }

    // MARK: Calls

    func miscall(_ recording: Recording, _ chance: Chance) -> Bool {
        let answers = places(recording) { $0.kind != .event && $0.id != nil }.filter {
            isMeant($0, recording)
        }
        guard !answers.isEmpty else { return false }
        let place = chance.pick(answers)
        let (conversation, id) = (place.conversation, place.told.id ?? 0)
        switch self {
        case .lostAnswer:
            conversation.told.remove(at: place.index)
            conversation.asked[id].reply = nil
        case .secondAnswer: conversation.told.insert(place.told, at: place.index + 1)
        case .wrongAnswer: conversation.asked[id].reply?.value += "1"
        case .answerOfNobody:
            conversation.asked[id].reply?.kind = .refused
            conversation.asked[id].reply?.name = "no_provider"
            conversation.asked[id].reply?.by = ""
        default: conversation.asked[id].begunAt += 1_000_000_000
        }
        return true
    }

    private func isMeant(_ place: Place, _ recording: Recording) -> Bool {
        let asked = place.conversation.asked[place.told.id ?? 0]
        guard case .call = asked.wish else { return false }
        switch self {
        case .lostAnswer:
            return place.conversation.asked.contains {
                $0.begun > recording.terms.restedAt && $0.reply != nil
            }
        case .secondAnswer: return true
        case .earlyTimeout: return place.told.name == "timeout"
        default: return place.told.kind == .done
        }
    }

    // MARK: What ends by itself

    func mistime(_ recording: inout Recording, _ chance: Chance) -> Bool {
        switch self {
        case .earlyWill: return stayOn(recording, chance)
        case .lostWill: return loseWill(&recording, chance)
        case .willAfterGoodbye: return makeWillAfterAll(&recording, chance)
        default: return expireEarly(recording, chance)
        }
    }

    /// Makes the client still be there when its will is written.
    private func stayOn(_ recording: Recording, _ chance: Chance) -> Bool {
        let tellings = places(recording) { $0.kind == .event && $0.reason == "will" && $0.name == "update" }
        let wills = recording.conversations.filter { conversation in
            conversation.asked.flatMap(\.wish.will).contains { will in
                recording.log.writes.contains { $0.value == will.value && $0.reason == "will" }
            }
        }
        guard !tellings.isEmpty, !wills.isEmpty else { return false }
        chance.pick(wills).leftAt = Int.max - 1
        return true
    }

    private func loseWill(_ recording: inout Recording, _ chance: Chance) -> Bool {
        let whole = recording.conversations.filter {
            $0.life == recording.terms.lastLife && $0.ended ?? .max < recording.terms.restedAt
        }
        // What a client asked last counts. Without an answer it may have had an effect or none.
        let wills = whole.compactMap { $0.asked.last(where: \.wish.isAboutWill) }
            .filter { $0.reply?.kind == .done }.flatMap(\.wish.will).map(\.value)
        let places = recording.log.writes.indices.filter { place in
            let write = recording.log.writes[place]
            return write.reason == "will" && wills.contains(write.value)
        }
        guard !places.isEmpty, recording.terms.policies.isEmpty else { return false }
        var writes = recording.log.writes
        writes.remove(at: chance.pick(Array(places)))
        recording.log.replace(writes)
        return true
    }

    private func makeWillAfterAll(_ recording: inout Recording, _ chance: Chance) -> Bool {
        let wills = recording.conversations.flatMap { conversation -> [Write] in
            let goodbye = conversation.asked.last { asked in
                if case .goodbye = asked.wish { asked.reply?.kind == .done } else { false }
            }
            guard goodbye != nil else { return [] }
            return conversation.asked.flatMap(\.wish.will).compactMap { will in
                will.value.map { Write(key: will.key, value: $0, by: conversation.client, reason: "will") }
            }
        }
        guard !wills.isEmpty, var will = Optional(chance.pick(wills)) else { return false }
        will.revision = (recording.log.writes.last?.revision ?? 0) + 1
        recording.log.replace(recording.log.writes + [will])
        return true
    }

    private func expireEarly(_ recording: Recording, _ chance: Chance) -> Bool {
        let ended = Set(
            recording.log.keys.values.flatMap { writes in
                zip(writes, writes.dropFirst()).compactMap { $1.reason == "expired" ? $0.value : nil }
            }
        )
        for conversation in recording.conversations {
            for id in conversation.asked.indices {
                guard case .bind(_, let value, .time) = conversation.asked[id].wish, ended.contains(value)
                else {
                    continue
                }
                conversation.asked[id].begunAt += 3_600_000_000_000
                return true
            }
        }
        return false
    }

    // MARK: The policy

    func misjudge(_ recording: Recording, _ chance: Chance) -> Bool {
        let policies = recording.terms.policies
        guard !policies.isEmpty else { return false }
        if self == .toldAfterReload {
            func later(_ place: Place) -> Int? {
                guard place.told.policy + 1 < policies.count else { return nil }
                return ((place.told.policy + 1)..<policies.count).first {
                    policies.rights(of: place.conversation.user, $0)?.may(.subscribe, place.told.key) != true
                }
            }
            let places = places(recording) {
                $0.kind == .event && ["update", "delete", "emit", "leave"].contains($0.name)
            }.filter { later($0) != nil }
            guard !places.isEmpty else { return false }
            let place = chance.pick(places)
            place.conversation.told[place.index].policy = later(place) ?? 0
            return true
        }
        let places = places(recording) { $0.id != nil && $0.kind != .event }.filter { place in
            let asked = place.conversation.asked[place.told.id ?? 0]
            let verdict = policies.verdict(place.conversation.user, asked.policy, place.told.policy) {
                $0.permit(asked.wish)
            }
            return self == .doneThoughForbidden
                ? verdict == .never && asked.reply?.name == "forbidden"
                : verdict == .always && place.told.kind == .done && !asked.wish.writes.isEmpty
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        let id = place.told.id ?? 0
        place.conversation.asked[id].reply?.kind = self == .doneThoughForbidden ? .done : .refused
        place.conversation.asked[id].reply?.name = self == .doneThoughForbidden ? "publish" : "forbidden"
        return true
    }
}
