// Further effects of requests, deadlines and ended connections. Operations and rooms return them, and they
// are carried out here.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

extension Hub {
    // MARK: Calls

    /// Ends the calls and the services of a client. Returns false if others should have their turn first.
    mutating func leaveCalls(of session: SessionHandle, until effortEnd: UInt64) -> Bool {
        while let call = sessions[session].calls?.made.first {
            if effort > effortEnd { return false }
            insight.count(steps: Cost.call)
            end(call, .abandoned)
        }
        return endServing(of: session, until: effortEnd)
    }

    mutating func endLate(_ number: UInt64) {
        guard let call = calls.find(number) else { return }
        call.deadline = nil
        let what = call.held.map { "the plugin \"\($0.plugin.name)\" didn't serve it" } ?? "no answer came"
        end([call], Refusal(.timeout, "\(what) within \(call.timeout) ms"))
    }

    private mutating func endHeld(for plugin: SupervisedPlugin) {
        let what = plugin.report.isExpected ? "may not any more" : "isn't running"
        let unserved = plugin.heldCalls.all.filter { !plugin.willServe($0.key.span) }
        end(unserved, Refusal(.noProvider, "the plugin \"\(plugin.name)\" that would serve it \(what)"))
    }

    /// Ends calls without an answer, and tells their callers why. Ending one call may end another of them.
    mutating func end(_ ended: [PendingCall], _ refusal: Refusal) {
        for call in ended where calls.find(call.number) != nil {
            insight.count(steps: Cost.call)
            var reply = delivery.takeLine()
            ReplyEncoder.appendRefusal(refusal, id: call.id.span, line: call.line, to: &reply)
            delivery.send(reply, to: call.caller, at: revision, &sessions)
            call.error = refusal.code.rawValue
            end(call, .failed)
        }
    }

    /// A call has ended, and its caller was told or has left.
    mutating func end(_ call: PendingCall, _ outcome: CallOutcome) {
        calls.countEnd(of: call, isAnswer: outcome == .answered, at: deadlines.now)
        traceEvent(of: call, outcome)
        if let deadline = call.deadline { deadlines.cancel(deadline) }
        if let held = calls.endHolding(call) { weigh(held.plugin) }
        calls.remove(call, &sessions)
        touchIfIdle(call.server)
    }

    // MARK: Rights

    // Rights change by another policy, a name, or a plugin's declaration. Keys that a client may not see
    // don't exist for it: refusals depend on the policy alone, never on what is there.

    mutating func follow(_ policy: Policy) {
        access.follow(policy, since: revision, sessions)
        matching.select()
    }

    /// Follows another policy from now on. Dismisses clients that may not connect any more, and those with unread lines
    /// about keys that they may not see any more.
    mutating func replacePolicy(_ policy: Policy) {
        follow(policy)
        // What a `subscribe` that isn't answered has found isn't waiting to be read; and what others are told because
        // services and calls end wasn't.
        var unread: Set<SessionHandle> = []
        for session in sessions.handles where sessions[session].grant != nil {
            for subscription in sessions[session].subscriptions.list.all { renewSnapshot(of: subscription) }
            if sessions[session].hasUnread { unread.insert(session) }
        }
        for session in sessions.handles {
            guard let grant = sessions[session].grant else { continue }
            let hasUnread = unread.contains(session)
            let seesLess = renewRights(of: session)
            // A client that is being closed may still have lines to read, but gets no others.
            guard sessions[session].takesAnswers || hasUnread else { continue }
            if !access.admits(sessions[session].peer, grant.groups) {
                delivery.dismiss(session, .forbidden, &sessions)
            } else if seesLess, hasUnread {
                delivery.dismiss(session, .revoked, &sessions)
            }
        }
    }

    /// A client has taken a name, and rules may be about that name.
    mutating func applyRules(_ name: Span<UInt8>, of session: SessionHandle) {
        guard let grant = sessions[session].grant else { return }
        insight.count(steps: access.policy?.ruleCount ?? 0)
        grant.name = String(name)
        followName(session)
    }

    /// A client's name is another one, or gone.
    private mutating func followName(_ session: SessionHandle) {
        let before = sessions[session].grant?.rights
        guard renewRights(of: session), let rights = sessions[session].grant?.rights else { return }
        let hidden = rights.hidden(.subscribe, since: before)
        if awaits(hidden, session) { delivery.setAside(session, .revoked, &sessions) }
    }

    /// Ends what a client may not do any more. Returns whether it might see less than before.
    private mutating func renewRights(of session: SessionHandle) -> Bool {
        guard let grant = sessions[session].grant, !grant.isSupervisor,
            let rights = access.rights(of: sessions[session].peer, grant.groups, name: grant.name),
            rights !== grant.rights
        else { return false }
        insight.count(steps: sessions[session].subscriptions.count * Cost.rights)
        insight.count(steps: rights.patternCount * Cost.visit)
        let before = grant.rights
        grant.rights = rights
        matching.reach.outdate()
        return change(from: before, to: rights, of: session)
    }

    /// The rights of a client are others from now on; nil means that it could do everything. Returns whether it
    /// might see less than before.
    private mutating func change(from before: Rights?, to rights: Rights, of session: SessionHandle) -> Bool {
        let change = before.map { access.compare($0, rights) } ?? (showMore: false, showLess: true)
        if change.showMore {
            // What it knows of the other keys may be outdated.
            for subscription in sessions[session].subscriptions.list.all {
                matching[subscription].filter?.hide(upTo: revision)
                renewSnapshot(of: subscription)
            }
        }
        endForbidden(of: session)
        return change.showLess
    }

    /// Whether events wait for a subscription of a client that may be about hidden keys. Keys of a snapshot don't
    /// count: those that may not be seen when their turn comes are left out. If there is too much to look at, one may.
    private mutating func awaits(_ hidden: HiddenKeys, _ session: SessionHandle) -> Bool {
        var looks = 0
        for subscription in sessions[session].subscriptions.list.all where awaitsEvents(subscription) {
            let patterns = allPatterns(of: subscription)
            looks += Self.looksPerSubscription + patterns.count * hidden.patternCount
            if looks > Self.looksMax || patterns.contains(where: { hidden.mayMatch($0.span) }) { return true }
        }
        insight.count(steps: looks / Cost.matchesPerStep)
        return false
    }

    private static let looksPerSubscription = 16
    private static let looksMax = 65_536

    /// Whether a subscription waits for more than its snapshot.
    private func awaitsEvents(_ subscription: SubscriptionHandle) -> Bool {
        if matching[subscription].isSharing { return true }
        guard let backlog = matching[subscription].backlog else { return false }
        return !backlog.lines.isEmpty || backlog.replay != nil
            || backlog.keys.count > backlog.keys.initialCount
    }

    mutating func takeReport(_ observable: ObservableHandle, from reporter: SessionHandle) {
        guard let report = try? PluginReport(keyspace.value(of: observable), at: 0) else { return }
        supervision.reporter = reporter
        let (plugin, before, isChanged) = supervision.take(report)
        if isChanged {
            if plugin.rights != nil { matching.select() }
            for session in sessions.handles { apply(plugin, before, to: session) }
            matching.reach.outdate()
        }
        endHeld(for: plugin)
        renewDemand(of: plugin)
    }

    /// The supervisor has deleted what it said about a plugin, so there is no such plugin any more.
    mutating func dropReport(_ observable: ObservableHandle) {
        guard let report = try? PluginReport(keyspace.value(of: observable), at: 0),
            let plugin = supervision.plugin(named: report.name)
        else { return }
        supervision.remove(plugin)
        endHeld(for: plugin)
    }

    /// A connected client may turn out to belong to the plugin, or to have taken its name. `before` are the
    /// rights of the plugin's clients up to now.
    private mutating func apply(_ plugin: SupervisedPlugin, _ before: Rights?, to session: SessionHandle) {
        let own = sessions[session].grant?.plugin
        if let own, own === plugin {
            limit(session, before)
            guard supervision.isOrphan(sessions[session].peer, of: plugin) else { return }
            sessions[session].ending = sessions[session].ending ?? .orphaned
            delivery.touch(first: session, &sessions)
        } else if own == nil, supervision.plugin(of: sessions[session].peer) === plugin {
            // No plugin is started for itself.
            let subscriptions = sessions[session].subscriptions.list.all
            plugin.demand?.observers -= subscriptions.count { isObserver($0, of: plugin) }
            bind(session, to: plugin, [])
            followName(session)
            endForbidden(of: session)
            limit(session, nil)
        } else if sessions[session].isNamed(plugin.name, keyspace) {
            sessions[session].loseName(&keyspace)
            withdrawName(of: session)
            sessions[session].grant?.name = nil
            followName(session)
        }
    }

    /// A plugin's client had the rights `before`, and may have others now. Nil means that it could do everything.
    private mutating func limit(_ session: SessionHandle, _ before: Rights?) {
        guard let rights = sessions[session].grant?.plugin?.rights, rights !== before else { return }
        let seesLess = change(from: before, to: rights, of: session)
        // A client that observes nothing was only sent what it asked for.
        let isObserver = sessions[session].subscriptions.count > 0
        if seesLess, isObserver, sessions[session].hasUnread {
            delivery.setAside(session, .revoked, &sessions)
        }
    }

    // MARK: Phases

    /// An observer has acknowledged a revision. When its subscription ends, it has acknowledged everything.
    mutating func acknowledge(_ subscription: SubscriptionHandle, upTo revision: UInt64) {
        for entry in phases.takeAwaited(by: subscription, upTo: revision) {
            if let gate = phases.release(entry, by: subscription) {
                advance(entry.observable, gate, late: [])
            }
            matching.reach.release(entry.observable)
            matching.forget(entry.observable, &keyspace)
        }
    }

    mutating func expireGate(of observable: ObservableHandle) {
        guard let gate = phases.gate(of: observable) else { return }
        let late = clientsLate(at: gate, of: observable)
        // An observer that missed one acknowledgement doesn't hold back later writes that it isn't told of.
        phases.giveUp(observable, &matching)
        advance(observable, gate, late: late)
    }

    private mutating func advance(_ observable: ObservableHandle, _ gate: Gate, late: [LateClient]) {
        // One more reference, so that the key stays when its gate is removed.
        matching.reach.retain(observable)
        let free = pass(observable, gate, late: late)
        // This sends all that a client is owed. The next gate is closed already.
        for subscription in free { review(subscription) }
        matching.reach.release(observable)
        matching.forget(observable, &keyspace)
    }

    // MARK: Subscriptions

    /// A subscription has begun, or is about to end. Counts what the broker remembers for it, and weighs
    /// plugins that start on demand. `sign` is -1 when it ends.
    mutating func updateDemand(of subscription: SubscriptionHandle, _ sign: Int) {
        let account = access.account(of: sessions[matching[subscription].session])
        account.used.subscriptions += sign * patternCount(of: subscription)
        account.used.kept += sign * (matching[subscription].filter?.bytes ?? 0)
        for plugin in supervision.onDemand where isObserver(subscription, of: plugin) {
            plugin.demand?.observers += sign
            weigh(plugin)
        }
    }

    /// Of those that it observes or traces.
    func patternCount(of subscription: SubscriptionHandle) -> Int {
        matching[subscription].keys.count + matching[subscription].patterns.count
            + insight.tracing.patterns(of: subscription).count
    }

    mutating func end(_ subscription: SubscriptionHandle) {
        insight.count(steps: Cost.subscription)
        updateDemand(of: subscription, -1)
        let (ticket, visits) = insight.tracing.remove(subscription)
        if let ticket { deadlines.cancel(ticket) }
        insight.count(steps: visits)
        writeOff(subscription)
        let session = matching[subscription].session
        detach(subscription)
        if matching[subscription].acknowledges { acknowledge(subscription, upTo: .max) }
        sessions[session].subscriptions.remove(subscription, &matching)
        if !matching[subscription].isDirect { sessions[session].indirectCount -= 1 }
        matching.remove(subscription)
    }

    /// Makes a subscription observe nothing any more. To leave a pattern takes as long as to come to it.
    mutating func detach(_ subscription: SubscriptionHandle) {
        insight.count(steps: matching[subscription].patterns.count * Cost.pattern)
        let user = sessions[matching[subscription].session].peer.user
        matching.detach(subscription, of: user, &keyspace)
    }

    // MARK: Durable writes

    /// Answers the durable writes up to a mark, which are on disk; all with a refusal if there is one. Clients that have
    /// left get nothing. A client that is behind gets the answer after what it is owed.
    mutating func answerDurable(upTo mark: JournalMark, _ refusal: Refusal? = nil) {
        var replies = DurableReplies()
        swap(&replies, &durability.replies)
        replies.take(upTo: mark) { reply, id, sum in
            let session = reply.session
            guard sessions.contains(session) else { return }
            sessions[session].awaitedWrites -= 1
            guard reply.isTold else { return delivery.touch(session, &sessions) }
            var line = delivery.takeLine()
            if let refusal {
                ReplyEncoder.appendRefusal(refusal, id: id, line: sessions[session].line, to: &line)
            } else {
                ReplyEncoder.appendDone(
                    reply.operation, id: id, revision: reply.revision, sum: sum, to: &line)
            }
            delivery.send(line, to: session, at: revision, &sessions)
        }
        swap(&replies, &durability.replies)
    }
}
