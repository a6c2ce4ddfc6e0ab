// Plugins that are started on demand: who observes what they publish is counted, calls of what
// they serve wait until they do, and the supervisor is told when one becomes wanted, and when
// it hasn't been for a while.

import PlugboardMemory
import PlugboardWire

extension Hub {
    // MARK: Observers

    /// A subscription has begun, or is about to end.
    @inline(never)
    mutating func noteDemand(of subscription: SubscriptionReference, _ change: Int) {
        for plugin in supervision.onDemand where isObserver(subscription, of: plugin) {
            plugin.demand?.observers += change
            weigh(plugin)
        }
    }

    /// Counts the observers of a plugin anew.
    private func recountObservers(of plugin: SupervisedPlugin) {
        var count = 0
        for slot in 0..<sessions.all.count {
            guard let session = sessions.all[slot], session.pointee.isOpen else { continue }
            for subscription in session.pointee.subscriptions.list.elements
            where isObserver(subscription, of: plugin) {
                count += 1
            }
        }
        plugin.demand?.observers = count
    }

    private func isObserver(_ subscription: SubscriptionReference, of plugin: SupervisedPlugin) -> Bool {
        let clearance = subscription.pointee.session.pointee.clearance
        guard let demand = plugin.demand, clearance?.isSupervisor != true, clearance?.plugin !== plugin else {
            return false
        }
        for place in subscription.pointee.keys.elements
        where demand.concerns(place.observable.pointee.key) {
            return true
        }
        var pattern = ByteBuffer()
        for place in subscription.pointee.patterns.elements {
            pattern.removeAll()
            place.node._withUnsafeGuaranteedRef { $0.appendPattern(to: &pattern) }
            if demand.concerns(pattern.bytes) { return true }
        }
        return false
    }

    // MARK: Calls

    /// Has a call that nobody serves wait for the plugin that would; nil where there is none.
    mutating func park(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionReference
    ) throws(Refusal) -> CallReference? {
        let key = request.key.bytes(of: line)
        guard let reporter = supervision.reporter, let plugin = supervision.server(of: key) else {
            return nil
        }
        let bytes = request.value.count + Self.wrappingBytes
        guard supervision.waitingBytes + bytes <= Demand.waitingBytesMax else {
            throw Refusal(.limit, "too much waits for plugins to be started", hint: "try again later")
        }
        try checkRoom(for: request, from: session, to: reporter)
        let call = begin(request, line, session, to: reporter)
        supervision.waitingCalls[call.pointee.number] = Array(scratch.bytes)
        supervision.waitingBytes += scratch.count
        plugin.demand?.calls += 1
        weigh(plugin)
        return call
    }

    /// Somebody serves more than before: what waited for that is asked.
    mutating func askWaiting() {
        for number in supervision.waitingCalls.keys.sorted() {
            guard let call = calls.find(number), let service = services.server(of: call.pointee.key),
                let event = supervision.waitingCalls[number]
            else { continue }
            forgetWaiting(call)
            calls.move(call, to: service.pointee.session)
            scratch.removeAll()
            scratch.append(event.span)
            appendScratch(to: service.pointee.session)
        }
    }

    /// A call waits no more, if it did.
    mutating func forgetWaiting(_ call: CallReference) {
        guard let event = supervision.waitingCalls.removeValue(forKey: call.pointee.number) else { return }
        supervision.waitingBytes -= event.count
        for plugin in supervision.onDemand where isFor(call, plugin) {
            plugin.demand?.calls -= 1
            weigh(plugin)
            return
        }
    }

    /// A plugin is being asked something: it isn't idle.
    func noteAsked(_ session: SessionReference, at time: UInt64) {
        session.pointee.clearance?.plugin?.demand?.quietSince = time
    }

    private func isFor(_ call: CallReference, _ plugin: SupervisedPlugin) -> Bool {
        plugin.demand?.served.contains { pattern in
            Pattern.matches(pattern.span, call.pointee.key)
        } ?? false
    }

    // MARK: The supervisor

    /// Goes by what was said of a plugin that is started on demand.
    mutating func renewDemand(of plugin: SupervisedPlugin) {
        guard let demand = plugin.demand else { return }
        recountObservers(of: plugin)
        if !demand.canStart {
            for number in supervision.waitingCalls.keys.sorted() {
                guard let call = calls.find(number), isFor(call, plugin) else { continue }
                fail(call, Refusal(.noProvider, "the plugin \"\(plugin.name)\" that serves it isn't running"))
            }
        }
        if demand.isRunning, !demand.isWanted {
            // Started by hand: it is idle from now on.
            demand.isWanted = true
            demand.quietSince = clock()
        } else if plugin.process == nil, demand.isNeeded, demand.isWanted {
            tellDemand(plugin)
        }
        weigh(plugin)
    }

    /// Tells the supervisor when a plugin becomes wanted, and looks at it later when it isn't any more.
    private mutating func weigh(_ plugin: SupervisedPlugin) {
        guard let demand = plugin.demand else { return }
        if demand.isNeeded {
            if demand.isWanted { return }
            demand.isWanted = true
            return tellDemand(plugin)
        }
        guard demand.isWanted, !demand.isTimed else { return }
        demand.isTimed = true
        demand.quietSince = max(demand.quietSince, clock())
        deadlines.add(at: demand.quietSince + demand.idleNanoseconds, .idle(plugin: plugin.number))
    }

    /// A while ago nobody wanted a plugin.
    mutating func checkIdle(_ number: Int, now: UInt64) {
        guard let plugin = supervision.plugin(number), let demand = plugin.demand else { return }
        demand.isTimed = false
        guard demand.isWanted, !demand.isNeeded else { return }
        if isBusy(plugin) { demand.quietSince = now }
        guard now >= demand.quietSince + demand.idleNanoseconds else {
            demand.isTimed = true
            deadlines.add(at: demand.quietSince + demand.idleNanoseconds, .idle(plugin: number))
            return
        }
        demand.isWanted = false
        tellDemand(plugin)
    }

    /// Whether it has yet to answer something.
    private func isBusy(_ plugin: SupervisedPlugin) -> Bool {
        for slot in 0..<sessions.all.count {
            guard let session = sessions.all[slot], session.pointee.clearance?.plugin === plugin,
                let duties = session.pointee.duties
            else { continue }
            if !duties.pointee.toAnswer.isEmpty { return true }
        }
        return false
    }

    private mutating func tellDemand(_ plugin: SupervisedPlugin) {
        guard let reporter = supervision.reporter, let demand = plugin.demand else { return }
        scratch.removeAll()
        EventEncoder.appendDemand(plugin: plugin.name, isWanted: demand.isWanted, to: &scratch)
        appendScratch(to: reporter)
    }
}
