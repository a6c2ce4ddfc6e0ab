// Mistakes that a broker could make. Each is made in the recording of a run without mistakes, and the
// checks must find it.

import PlugboardWire

/// A mistake, made at a random place of a recording.
struct Mutation: Sendable {
    let name: String
    /// A part of the complaint that must be made; empty if any complaint will do.
    let complaint: String
    /// Makes the mistake. Returns false if the recording has no place for it.
    let make: @Sendable (inout Recording, Chance) -> Bool

    /// A mistake with something of a recording, of which `sites` are all that there are.
    private init<Site>(
        _ name: String, _ complaint: String, of sites: @escaping @Sendable (Recording) -> [Site],
        _ change: @escaping @Sendable (Site, inout Recording) -> Void
    ) {
        (self.name, self.complaint) = (name, complaint)
        make = { recording, chance in
            let sites = sites(recording)
            guard !sites.isEmpty else { return false }
            change(chance.pick(sites), &recording)
            return true
        }
    }

    /// A mistake with a line.
    private init(
        _ name: String, _ complaint: String = "", at places: @escaping @Sendable (Recording) -> [Place],
        _ change: @escaping @Sendable (Place) -> Void
    ) {
        self.init(name, complaint, of: places) { place, _ in change(place) }
    }

    static let all = ofLines + ofReplies + ofWrites + ofFilters + ofCalls + ofEnds + ofPolicies

    // MARK: What is told

    private static let ofLines: [Mutation] = [
        Mutation("dropped event", at: { $0.last { $0.name == "update" && !$0.isInitial && $0.skipped == 0 } })
        {
            $0.remove()
        },
        Mutation("dropped delete", at: { $0.last { $0.name == "delete" } }) { $0.remove() },
        Mutation("snapshot without a key", at: { $0.last { $0.isInitial } }) { $0.remove() },
        // Also where events may wait, and the key is told again later.
        Mutation("snapshot without a key that follows", "not in the snapshot", at: { $0.initials }) {
            $0.remove()
        },
        Mutation("lost newest", at: { $0.last { $0.skipped > 0 } }) { $0.remove() },
        // A key that a policy hides now and then may be told again when it is seen again.
        Mutation("repeated event", at: { $0.seen { ["update", "delete", "emit"].contains($0.name) } }) {
            $0.insert($0.told)
        },
        // Of such a key nobody can say how many were folded, either.
        Mutation("wrong skipped", at: { $0.seen { $0.skipped > 0 && !$0.isInitial } }) {
            $0.told.skipped += 1
        },
        Mutation("wrong writer", at: { $0.events { $0.name == "update" } }) { $0.told.by += "x" },
        Mutation("wrong time", at: { $0.events { $0.name == "update" && !$0.when.isEmpty } }) {
            $0.told.when += "x"
        },
        Mutation("reordered events") { recording in
            recording.events { $0.name == "update" }.filter { place in
                place.next.map {
                    $0.kind == .event && ["update", "delete"].contains($0.name) && $0.sub == place.told.sub
                        && $0.revision != place.told.revision
                } ?? false
            }
        } _: {
            $0.swapWithNext()
        },
        // A client is sent the event of its own write after the reply.
        Mutation("event after its reply") { recording in
            recording.seen { $0.name == "update" && $0.skipped == 0 }.filter { place in
                place.next.map {
                    $0.kind == .done && $0.name == "publish" && $0.revision == place.told.revision
                } ?? false && !recording.terms.hasPhases
                    && !recording.waits(place.told.sub, place.conversation)
                    && !recording.mayBeOwed(place.told, in: place.conversation)
            }
        } _: {
            $0.swapWithNext()
        },
        Mutation("event after unsubscribe") { recording in
            recording.places { $0.kind == .done && $0.name == "unsubscribe" }
                .filter { $0.lastEvent(of: $0.told.sub) != nil }
        } _: {
            if let event = $0.lastEvent(of: $0.told.sub) { $0.insert(event) }
        },
        // An emit and a write of one batch are swapped.
        Mutation("swapped batch", "its batch has it further to the front") { recording in
            recording.places { $0.kind == .event && $0.name == "update" && !$0.isInitial }.filter { place in
                guard let emit = place.next, emit.name == "emit", emit.sub == place.told.sub,
                    emit.revision == place.told.revision, place.plan?.showsValues == true
                else { return false }
                return recording.conversations.flatMap(\.asked).contains { asked in
                    asked.reply?.kind == .done && asked.reply?.revision == place.told.revision
                        && asked.wish.writes.contains { $0.key == place.told.key }
                        && asked.wish.emits.contains { $0.value == emit.value }
                }
            }
        } _: {
            $0.swapWithNext()
        },
    ]

    // MARK: What is answered

    private static let ofReplies: [Mutation] = [
        Mutation("replies out of order") { recording in
            recording.places { $0.kind == .done }.filter { place in
                guard let next = place.next, next.kind == .done else { return false }
                return ![place.told, next].contains { place.conversation.asked[$0.id ?? 0].isLate }
            }
        } _: {
            $0.swapWithNext()
        },
        Mutation("stale get", "", of: staleReads) { read, _ in
            (read.place.told, read.place.asked.reply) = (read.reply, read.reply)
        },
        // An `if` that didn't hold is treated as one that did, or the other way round.
        Mutation("lost refusal", at: { $0.conditional(.refused) }) { $0.asked.reply?.kind = .done },
        Mutation("refused for nothing", at: { $0.conditional(.done) }) { place in
            guard case .publish(_, _, let condition?) = place.asked.wish else { return }
            place.asked.reply?.kind = .refused
            place.asked.reply?.name = "conflict"
            place.asked.reply?.revision = condition
        },
    ]

    /// Replies to `get`, each with one that tells the value before, although a newer one was there when it was asked.
    @Sendable private static func staleReads(_ recording: Recording) -> [(place: Place, reply: Told)] {
        recording.places { $0.kind == .done && $0.name == "get" }.compactMap { place in
            var reply = place.told
            guard let current = recording.log.place(of: reply.key, at: reply.revision ?? 0), current > 1,
                recording.conversations.flatMap(\.asked).contains(where: { asked in
                    asked.wish.writes.contains { $0.key == reply.key && $0.value == reply.value }
                        && (asked.ended ?? .max) < place.asked.begun
                })
            else { return nil }
            if let old = recording.log.write(of: reply.key, current - 1), let value = old.value {
                (reply.value, reply.revision, reply.by) = (value, old.revision, old.by)
            } else {
                (reply.kind, reply.name, reply.revision) = (.refused, "not_found", nil)
            }
            return (place, reply)
        }
    }

    // MARK: What is written

    private static let ofWrites: [Mutation] = [
        Mutation("applied twice", "", of: { $0.log.writes.filter { $0.value != nil } }) { write, recording in
            recording.append(write)
        },
        Mutation("reused revision", "") { recording -> [Int] in
            let writes = recording.log.writes
            return writes.indices.dropFirst().filter { writes[$0].revision != writes[$0 - 1].revision }
        } _: { place, recording in
            var writes = recording.log.writes
            writes[place].revision = writes[place - 1].revision
            recording.log.replace(writes)
        },
        // The last write leaves no gap when it is lost. Only its reply would show that.
        Mutation("lost write", "", of: { Array($0.log.writes.indices.dropLast()) }) { place, recording in
            recording.removeWrite(place)
        },
    ]

    // MARK: Filters

    private static let ofFilters: [Mutation] = [
        // An observer that resumed, or reads slowly, may get a `leave` for a key that it never had.
        Mutation("lost leave", "lacks") { recording in
            guard recording.terms.policies.isEmpty else { return [] }
            let updates = Set(
                recording.places { $0.name == "update" }.map { "\($0.told.sub) \($0.told.key)" })
            return recording.last { $0.name == "leave" }.filter {
                $0.plan?.since == nil && updates.contains("\($0.told.sub) \($0.told.key)")
            }
        } _: {
            $0.remove()
        },
        Mutation("leave as an update", "not what was asked for", at: { $0.events { $0.name == "leave" } }) {
            $0.told.name = "update"
        },
        Mutation("wrong part", "the parts are", at: { $0.following { $0.parts?["/n"] != nil } }) {
            $0.told.parts?["/n"] = "99"
        },
        Mutation("wrong patch", "does not give", at: { $0.following { $0.patch != nil } }) {
            $0.told.patch = #"{"n":99}"#
        },
        // An observer is sent a write that its filter leaves out, in the place where it would have come.
        Mutation("unwanted event", "not what was asked for") { recording in
            recording.events { $0.name == "leave" }.compactMap { recording.unwanted(behind: $0) }
        } _: { unwanted, _ in
            unwanted.place.insert(unwanted.event)
        },
        // A `leave` for a write after a delete, although the key didn't match before. Who was told of a gap may have
        // been told anything in it.
        Mutation("second leave", "it had left") { recording in
            recording.events { $0.name == "delete" }.filter { place in
                !recording.terms.isHeavy && !place.conversation.told.contains { $0.name == "lagged" }
            }.compactMap { recording.unwanted(behind: $0) }
        } _: { unwanted, _ in
            var event = unwanted.event
            (event.name, event.value, event.old) = ("leave", "", nil)
            unwanted.place.insert(event)
        },
    ]

    // MARK: Calls

    private static let ofCalls: [Mutation] = [
        Mutation("lost answer", "0 answers") { recording in
            recording.answers.filter { place in
                place.conversation.asked.contains { $0.begun > recording.terms.restedAt && $0.reply != nil }
            }
        } _: {
            $0.asked.reply = nil
            $0.remove()
        },
        Mutation("second answer", "2 answers", at: { $0.answers }) { $0.insert($0.told) },
        Mutation("wrong answer", "nobody who was asked said so", at: { $0.answers.filter(\.isDone) }) {
            $0.asked.reply?.value += "1"
        },
        Mutation("answer of nobody", "somebody was asked", at: { $0.answers.filter(\.isDone) }) {
            $0.asked.reply?.kind = .refused
            $0.asked.reply?.name = "no_provider"
            $0.asked.reply?.by = ""
        },
        Mutation("early timeout", "too early", at: { $0.answers.filter { $0.told.name == "timeout" } }) {
            $0.asked.begunAt += 1_000_000_000
        },
    ]

    // MARK: What ends by itself

    private static let ofEnds: [Mutation] = [
        // The client is still there when its will is written.
        Mutation("early will", "a will before") { recording -> [Conversation] in
            guard !recording.events({ $0.reason == "will" && $0.name == "update" }).isEmpty else { return [] }
            return recording.conversations.filter { conversation in
                conversation.asked.flatMap(\.wish.will).contains { will in
                    recording.log.writes.contains { $0.value == will.value && $0.reason == "will" }
                }
            }
        } _: { conversation, _ in
            conversation.leftAt = Int.max - 1
        },
        Mutation("lost will", "its will was not made") { recording -> [Int] in
            guard recording.terms.policies.isEmpty else { return [] }
            let whole = recording.conversations.filter {
                $0.life == recording.terms.lastLife && $0.ended ?? .max < recording.terms.restedAt
            }
            // What a client asked last counts. Without an answer it may have had an effect or none.
            let wills = whole.compactMap { $0.asked.last(where: \.wish.isAboutWill) }
                .filter { $0.reply?.kind == .done }.flatMap(\.wish.will).map(\.value)
            let writes = recording.log.writes
            return writes.indices.filter { writes[$0].reason == "will" && wills.contains(writes[$0].value) }
        } _: { place, recording in
            recording.removeWrite(place)
        },
        Mutation("will after goodbye", "not the will") { recording in
            recording.conversations.filter { $0.goodbye?.reply?.kind == .done }.flatMap { conversation in
                conversation.asked.flatMap(\.wish.will).compactMap { will in
                    will.value.map {
                        Write(key: will.key, value: $0, by: conversation.client, reason: "will")
                    }
                }
            }
        } _: { will, recording in
            recording.append(will)
        },
        Mutation("early expiry", "ended before its time") { recording -> [Request] in
            let ended = recording.log.keys.values.flatMap { writes in
                zip(writes, writes.dropFirst()).compactMap { $1.reason == "expired" ? $0.value : nil }
            }
            return recording.requests { asked in
                if case .bind(_, let value, .time) = asked.wish { ended.contains(value) } else { false }
            }
        } _: { request, _ in
            request.conversation.asked[request.id].begunAt += 3_600_000_000_000
        },
    ]

    // MARK: The policy

    private static let ofPolicies: [Mutation] = [
        Mutation("told after a reload", "may not be told that") { recording -> [(Place, Int)] in
            let policies = recording.terms.policies
            return recording.events { ["update", "delete", "emit", "leave"].contains($0.name) }
                .compactMap { place in
                    (0..<policies.count).first {
                        $0 > place.told.policy
                            && policies.rights(of: place.conversation.user, $0)?.may(
                                .subscribe, place.told.key) != true
                    }.map { (place, $0) }
                }
        } _: { told, _ in
            told.0.told.policy = told.1
        },
        Mutation("done though forbidden", "done, though") { recording in
            recording.judged(.never).filter { $0.asked.reply?.name == "forbidden" }
        } _: {
            $0.asked.reply?.kind = .done
            $0.asked.reply?.name = "publish"
        },
        Mutation("refused though permitted", "refused, though") { recording in
            recording.judged(.always).filter { $0.isDone && !$0.asked.wish.writes.isEmpty }
        } _: {
            $0.asked.reply?.kind = .refused
            $0.asked.reply?.name = "forbidden"
        },
    ]
}

/// The place of a request.
private typealias Request = (conversation: Conversation, id: Int)

/// The place of a line.
private struct Place {
    let conversation: Conversation
    let index: Int

    var told: Told {
        get { conversation.told[index] }
        nonmutating set { conversation.told[index] = newValue }
    }

    /// The request that it answers.
    var asked: Asked {
        get { conversation.asked[told.id ?? 0] }
        nonmutating set { conversation.asked[told.id ?? 0] = newValue }
    }

    var isDone: Bool { told.kind == .done }
    var next: Told? { index + 1 < conversation.told.count ? conversation.told[index + 1] : nil }
    /// What its subscription asked for.
    var plan: SubscriptionPlan? {
        for asked in conversation.asked {
            if case .subscribe(let plan) = asked.wish, plan.sub == told.sub { return plan }
        }
        return nil
    }

    /// The last event of a subscription before it.
    func lastEvent(of sub: String) -> Told? {
        conversation.told[..<index].last { $0.kind == .event && $0.sub == sub }
    }

    func remove() { conversation.told.remove(at: index) }
    /// Tells another line behind it.
    func insert(_ told: Told) { conversation.told.insert(told, at: index + 1) }
    func swapWithNext() { conversation.told.swapAt(index, index + 1) }
}

// Where mistakes can be made.

extension Recording {
    fileprivate func places(_ isMeant: (Told) -> Bool) -> [Place] {
        conversations.flatMap { conversation in
            conversation.told.indices.filter { isMeant(conversation.told[$0]) }
                .map { Place(conversation: conversation, index: $0) }
        }
    }

    fileprivate func events(_ isMeant: (Told) -> Bool) -> [Place] {
        places { $0.kind == .event && isMeant($0) }
    }

    /// Events of keys that no policy ever hid.
    fileprivate func seen(_ isMeant: (Told) -> Bool) -> [Place] {
        events(isMeant).filter { isAlwaysSeen($0.told.key, by: $0.conversation) }
    }

    /// The last event of a key, so that no later one replaces it, with a barrier at rest after it. A later reply with
    /// a revision shows that it is missing.
    fileprivate func last(_ isMeant: (Told) -> Bool) -> [Place] {
        seen(isMeant).filter { place in
            let (told, conversation) = (place.told, place.conversation)
            let rest = conversation.told[(place.index + 1)...]
            let isUnsubscribed = conversation.asked.contains {
                if case .unsubscribe(told.sub) = $0.wish { true } else { false }
            }
            return !isUnsubscribed && !rest.contains { $0.sub == told.sub && $0.key == told.key }
                && rest.contains {
                    guard let id = $0.id, case .sync = conversation.asked[id].wish else { return false }
                    return conversation.asked[id].begun > terms.restedAt
                } && !(["delete", "leave"].contains(told.name) && isUnknown(told, in: conversation))
        }
    }

    /// Events of a snapshot whose keys are told again after `synced`, and are never written so that they aren't asked
    /// for.
    fileprivate var initials: [Place] {
        seen { $0.isInitial }.filter { place in
            let told = place.told
            let later = place.conversation.told[(place.index + 1)...].filter { $0.sub == told.sub }
            guard let plan = place.plan, plan.since == nil,
                let next = later.first(where: { $0.key == told.key || $0.name == "synced" }),
                next.name == "synced",
                later.contains(where: { $0.key == told.key }),
                !place.conversation.told.contains(where: { $0.name == "lagged" })
            else { return false }
            return log.keys[told.key]?.allSatisfy { plan.telling(from: nil, to: $0.value) == .update }
                ?? false
        }
    }

    /// Updates of subscriptions that aren't resumed and have got the key before.
    fileprivate func following(_ isMeant: (Told) -> Bool) -> [Place] {
        guard terms.policies.isEmpty else { return [] }
        return events { $0.name == "update" && !$0.isInitial && isMeant($0) }.filter { place in
            place.plan?.since == nil
                && place.conversation.told[..<place.index].contains {
                    $0.sub == place.told.sub && $0.key == place.told.key
                }
        }
    }

    /// Answers to calls.
    fileprivate var answers: [Place] {
        places { $0.kind != .event && $0.id != nil }.filter {
            if case .call = $0.asked.wish { true } else { false }
        }
    }

    fileprivate func requests(_ isMeant: (Asked) -> Bool) -> [Request] {
        conversations.flatMap { conversation in
            conversation.asked.indices.filter { isMeant(conversation.asked[$0]) }.map { (conversation, $0) }
        }
    }

    /// Replies of a kind to `publish` with `if`.
    fileprivate func conditional(_ kind: Told.Kind) -> [Place] {
        places { $0.kind == kind && $0.id != nil }.filter {
            if case .publish(_, _, .some) = $0.asked.wish { true } else { false }
        }
    }

    /// Replies to requests on which the policies have such a verdict.
    fileprivate func judged(_ verdict: PolicySequence.Verdict) -> [Place] {
        guard !terms.policies.isEmpty else { return [] }
        return places { $0.id != nil && $0.kind != .event }.filter { place in
            terms.policies.verdict(place.conversation.user, place.asked.policy, place.told.policy) {
                $0.permit(place.asked.wish)
            } == verdict
        }
    }

    /// The next write behind an event, if the filter leaves it out, as an update.
    fileprivate func unwanted(behind place: Place) -> (place: Place, event: Told)? {
        let told = place.told
        guard let plan = place.plan, let narrowing = plan.narrowing, plan.since == nil,
            narrowing.condition != nil, terms.policies.isEmpty,
            let before = log.place(of: told.key, at: told.revision ?? 0),
            let write = log.write(of: told.key, before + 1), let value = write.value,
            narrowing.telling(from: log.write(of: told.key, before)?.value, to: value) == .nothing
        else { return nil }
        let next = place.conversation.told[(place.index + 1)...].first {
            $0.sub == told.sub && $0.kind == .event
        }
        guard next?.revision ?? .max > write.revision else { return nil }
        var event = told
        (event.name, event.value, event.revision) = ("update", value, write.revision)
        (event.by, event.reason, event.origin) = (write.by, write.reason, write.origin)
        event.when = plan.hasWhen ? write.when : ""
        (event.skipped, event.old) = (0, plan.hasOld ? log.write(of: told.key, before)?.value : nil)
        return (place, event)
    }

    fileprivate mutating func removeWrite(_ place: Int) {
        var writes = log.writes
        writes.remove(at: place)
        log.replace(writes)
    }

    /// Makes a write once more, or a new one, as the last.
    fileprivate mutating func append(_ write: Write) {
        var write = write
        write.revision = (log.writes.last?.revision ?? 0) + 1
        log.replace(log.writes + [write])
    }
}
