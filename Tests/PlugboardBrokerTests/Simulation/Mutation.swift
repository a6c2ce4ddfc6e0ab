// Mistakes that a broker could make. Each is made in the recording of a run without mistakes, and the
// checks must find it.

import PlugboardWire

/// A mistake, made at a random place of a recording.
enum Mutation: CaseIterable {
    case dropEvent, repeatEvent, reorderEvents, staleGet, lostRefusal, refusedForNothing, doubleApply
    case wrongWriter, wrongTime, reusedRevision, skippedDelete, eventAfterReply, lostNewest, lostWrite
    case eventAfterUnsubscribe, snapshotWithoutKey, wrongSkipped, replyOutOfOrder
    case unwantedEvent, lostLeave, secondLeave, leaveForUpdate, wrongPart, wrongPatch
    case swappedBatch
    case lostAnswer, secondAnswer, wrongAnswer, answerOfNobody, earlyTimeout
    case earlyWill, lostWill, willAfterGoodbye, earlyExpiry
    case toldAfterReload, doneThoughForbidden, refusedThoughPermitted

    /// The place of a line.
    struct Place {
        let conversation: Conversation
        let index: Int
        var told: Told { conversation.told[index] }
    }

    /// Makes the mistake. Returns false if the recording has no place for it.
    func make(in recording: inout Recording, _ chance: Chance) -> Bool {
        switch self {
        case .dropEvent:
            return drop(recording, chance) { $0.name == "update" && !$0.isInitial && $0.skipped == 0 }
        case .skippedDelete: return drop(recording, chance) { $0.name == "delete" }
        case .snapshotWithoutKey: return drop(recording, chance) { $0.isInitial }
        case .lostNewest: return drop(recording, chance) { $0.skipped > 0 }
        case .repeatEvent: return tellTwice(recording, chance)
        case .wrongWriter:
            return edit(recording, chance) {
                $0.kind == .event && $0.name == "update"
            } _: {
                $0.conversation.told[$0.index].by += "x"
            }
        case .wrongTime:
            return edit(recording, chance) {
                $0.kind == .event && $0.name == "update" && !$0.when.isEmpty
            } _: {
                $0.conversation.told[$0.index].when += "x"
            }
        case .wrongSkipped: return misfold(recording, chance)
        case .reorderEvents: return reorder(recording, chance)
        case .staleGet: return makeStale(recording, chance)
        case .lostRefusal, .refusedForNothing: return turn(recording, chance)
        case .doubleApply: return applyTwice(&recording, chance)
        case .reusedRevision: return reuse(&recording, chance)
        case .lostWrite: return lose(&recording, chance)
        case .eventAfterReply: return delay(recording, chance)
        case .eventAfterUnsubscribe: return outlive(recording, chance)
        case .replyOutOfOrder: return swapReplies(recording, chance)
        case .swappedBatch: return swapBatch(recording, chance)
        case .unwantedEvent, .lostLeave, .secondLeave, .leaveForUpdate, .wrongPart, .wrongPatch:
            return misfilter(recording, chance)
        case .lostAnswer, .secondAnswer, .wrongAnswer, .answerOfNobody, .earlyTimeout:
            return miscall(recording, chance)
        case .earlyWill, .lostWill, .willAfterGoodbye, .earlyExpiry: return mistime(&recording, chance)
        case .toldAfterReload, .doneThoughForbidden, .refusedThoughPermitted:
            return misjudge(recording, chance)
        }
    }

    func places(_ recording: Recording, _ isMeant: (Told) -> Bool) -> [Place] {
        recording.conversations.flatMap { conversation in
            conversation.told.indices.filter { isMeant(conversation.told[$0]) }
                .map { Place(conversation: conversation, index: $0) }
        }
    }

    func edit(
        _ recording: Recording, _ chance: Chance, _ isMeant: (Told) -> Bool, _ change: (Place) -> Void
    ) -> Bool {
        let places = places(recording, isMeant)
        guard !places.isEmpty else { return false }
        change(chance.pick(places))
        return true
    }

    /// A key that a policy hides now and then may be told again when it is seen again.
    private func tellTwice(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) {
            $0.kind == .event && ["update", "delete", "emit"].contains($0.name)
        }.filter { recording.isAlwaysSeen($0.told.key, by: $0.conversation) }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        place.conversation.told.insert(place.told, at: place.index + 1)
        return true
    }

    /// Says of an update that one more was folded into it. Of a key that a policy hides now and then
    /// nobody can say how many were.
    private func misfold(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) { $0.skipped > 0 && !$0.isInitial }
            .filter { recording.isAlwaysSeen($0.told.key, by: $0.conversation) }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        place.conversation.told[place.index].skipped += 1
        return true
    }

    /// Removes an event. A later reply with a revision shows that it is missing.
    func drop(_ recording: Recording, _ chance: Chance, _ isMeant: (Told) -> Bool) -> Bool {
        let places = places(recording) { $0.kind == .event && isMeant($0) }.filter { place in
            let rest = place.conversation.told[(place.index + 1)...]
            let unsubscribed = place.conversation.asked.contains {
                if case .unsubscribe(let sub) = $0.wish { sub == place.told.sub } else { false }
            }
            // The last event of a key, so that no later one replaces it, with a barrier at rest after it.
            return !unsubscribed && recording.isAlwaysSeen(place.told.key, by: place.conversation)
                && !rest.contains { $0.sub == place.told.sub && $0.key == place.told.key }
                && rest.contains {
                    guard let id = $0.id, case .sync = place.conversation.asked[id].wish else { return false }
                    return place.conversation.asked[id].begun > recording.terms.restedAt
                }
                && !(["delete", "leave"].contains(place.told.name)
                    && recording.isUnknown(place.told, in: place.conversation))
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        place.conversation.told.remove(at: place.index)
        return true
    }

    private func reorder(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) { $0.kind == .event && $0.name == "update" }.filter { place in
            guard place.index + 1 < place.conversation.told.count else { return false }
            let next = place.conversation.told[place.index + 1]
            return next.kind == .event && ["update", "delete"].contains(next.name)
                && next.sub == place.told.sub
                && next.revision != place.told.revision
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        place.conversation.told.swapAt(place.index, place.index + 1)
        return true
    }

    /// Answers a `get` with an older value than the one that was written before the request.
    private func makeStale(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) { $0.kind == .done && $0.name == "get" }.filter { place in
            guard let place = recording.log.place(of: place.told.key, at: place.told.revision ?? 0) else {
                return false
            }
            return place > 1
        }.filter { place in
            let asked = place.conversation.asked[place.told.id ?? 0]
            return recording.conversations.contains { other in
                other.asked.contains { one in
                    one.wish.writes.contains { $0.key == place.told.key && $0.value == place.told.value }
                        && (one.ended ?? .max) < asked.begun
                }
            }
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        let (key, id) = (place.told.key, place.told.id ?? 0)
        let current = recording.log.place(of: key, at: place.told.revision ?? 0) ?? 1
        var reply = place.told
        if let old = recording.log.write(of: key, current - 1), let value = old.value {
            (reply.value, reply.revision, reply.by) = (value, old.revision, old.by)
        } else {
            (reply.kind, reply.name, reply.revision) = (.refused, "not_found", nil)
        }
        place.conversation.told[place.index] = reply
        place.conversation.asked[id].reply = reply
        return true
    }

    /// Treats an `if` that didn't hold as one that did, or the other way round.
    private func turn(_ recording: Recording, _ chance: Chance) -> Bool {
        var meant: [(Conversation, Int)] = []
        for conversation in recording.conversations {
            for (id, asked) in conversation.asked.enumerated() {
                guard case .publish(_, _, .some) = asked.wish, let reply = asked.reply else { continue }
                if reply.kind == (self == .lostRefusal ? .refused : .done) {
                    meant.append((conversation, id))
                }
            }
        }
        guard !meant.isEmpty else { return false }
        let (conversation, id) = chance.pick(meant)
        guard case .publish(_, _, let condition?) = conversation.asked[id].wish else { return false }
        if self == .lostRefusal {
            conversation.asked[id].reply?.kind = .done
        } else {
            conversation.asked[id].reply?.kind = .refused
            conversation.asked[id].reply?.name = "conflict"
            conversation.asked[id].reply?.revision = condition
        }
        return true
    }

    private func applyTwice(_ recording: inout Recording, _ chance: Chance) -> Bool {
        var writes = recording.log.writes
        guard let last = writes.last,
            var again = writes.filter({ $0.value != nil }).randomElement(using: &chance.generator)
        else { return false }
        again.revision = last.revision + 1
        writes.append(again)
        recording.log.replace(writes)
        return true
    }

    private func reuse(_ recording: inout Recording, _ chance: Chance) -> Bool {
        var writes = recording.log.writes
        let places = writes.indices.dropFirst().filter { writes[$0].revision != writes[$0 - 1].revision }
        guard !places.isEmpty else { return false }
        let place = chance.pick(Array(places))
        writes[place].revision = writes[place - 1].revision
        recording.log.replace(writes)
        return true
    }

    private func lose(_ recording: inout Recording, _ chance: Chance) -> Bool {
        var writes = recording.log.writes
        guard !writes.isEmpty else { return false }
        writes.remove(at: chance.below(writes.count))
        guard let place = writes.indices.last else { return false }
        // The last write leaves no gap when it is lost. Only its reply would show that.
        if writes.count == recording.log.writes.count - 1, recording.log.writes.last != writes[place] {
            return false
        }
        recording.log.replace(writes)
        return true
    }

    /// Sends a client the event of its own write after the reply.
    private func delay(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) { $0.kind == .event && $0.name == "update" && $0.skipped == 0 }.filter
        { place in
            guard place.index + 1 < place.conversation.told.count, !recording.terms.hasPhases else {
                return false
            }
            let next = place.conversation.told[place.index + 1]
            return next.kind == .done && next.revision == place.told.revision && next.name == "publish"
                && !recording.waits(place.told.sub, place.conversation)
                && !recording.mayBeOwed(place.told, in: place.conversation)
                && recording.isAlwaysSeen(place.told.key, by: place.conversation)
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        place.conversation.told.swapAt(place.index, place.index + 1)
        return true
    }

    private func outlive(_ recording: Recording, _ chance: Chance) -> Bool {
        let replies = places(recording) { $0.kind == .done && $0.name == "unsubscribe" }.filter { place in
            place.conversation.told[..<place.index].contains { $0.kind == .event && $0.sub == place.told.sub }
        }
        guard !replies.isEmpty else { return false }
        let place = chance.pick(replies)
        guard
            let event = place.conversation.told[..<place.index].last(where: {
                $0.kind == .event && $0.sub == place.told.sub
            })
        else { return false }
        place.conversation.told.insert(event, at: place.index + 1)
        return true
    }

    private func swapReplies(_ recording: Recording, _ chance: Chance) -> Bool {
        let places = places(recording) { $0.kind == .done }.filter { place in
            guard place.index + 1 < place.conversation.told.count else { return false }
            let next = place.conversation.told[place.index + 1]
            return next.kind == .done
                && ![place.told, next].contains { place.conversation.asked[$0.id ?? 0].isLate }
        }
        guard !places.isEmpty else { return false }
        let place = chance.pick(places)
        place.conversation.told.swapAt(place.index, place.index + 1)
        return true
    }
}
