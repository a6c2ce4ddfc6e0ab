// Plugins that start on demand. Counts the observers of what they publish, and tells the supervisor when a
// plugin becomes wanted, and when it hasn't been for a while. Calls that wait for a plugin count, too.

import PlugboardMemory
import PlugboardWire

extension Supervision {
    // MARK: Observers

    /// Call when a subscription has begun, or is about to end.
    @inline(never)
    func noteDemand(
        of subscription: SubscriptionHandle,
        _ change: Int,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ deadlines: inout Deadlines
    ) {
        for plugin in onDemand {
            guard isObserver(subscription, of: plugin, keyspace, matching, sessions) else { continue }
            plugin.demand?.observers += change
            weigh(plugin, at: keyspace.revision, &sessions, &delivery, &deadlines)
        }
    }

    /// Counts the observers of a plugin anew. Subscriptions of a client that is being closed count until they
    /// end, because they are subtracted then.
    func countObservers(
        of plugin: SupervisedPlugin,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) -> Int {
        var count = 0
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot) else { continue }
            for subscription in sessions[session].subscriptions.list.all {
                if isObserver(subscription, of: plugin, keyspace, matching, sessions) { count += 1 }
            }
        }
        return count
    }

    private func isObserver(
        _ subscription: SubscriptionHandle,
        of plugin: SupervisedPlugin,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) -> Bool {
        let clearance = sessions[matching[subscription].session].clearance
        guard let demand = plugin.demand, clearance?.isSupervisor != true, clearance?.plugin !== plugin else {
            return false
        }
        for place in matching[subscription].keys.all
        where demand.concerns(keyspace[place.observable].key) {
            return true
        }
        var pattern = ByteBuffer()
        for place in matching[subscription].patterns {
            pattern.removeAll()
            place.node.appendPattern(to: &pattern)
            if demand.concerns(pattern.bytes) { return true }
        }
        return false
    }

    // MARK: The supervisor

    /// Applies a report about a plugin that starts on demand.
    func renewDemand(
        of plugin: SupervisedPlugin,
        _ keyspace: borrowing Keyspace,
        _ matching: borrowing Matching,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ deadlines: inout Deadlines
    ) {
        guard let demand = plugin.demand else { return }
        demand.observers = countObservers(of: plugin, keyspace, matching, sessions)
        if demand.isRunning, !demand.isWanted {
            // Somebody started it by hand. It is idle from now on.
            demand.isWanted = true
            demand.quietSince = deadlines.now
        } else if plugin.process == nil, plugin.isNeeded, demand.isWanted {
            tellDemand(plugin, at: keyspace.revision, &sessions, &delivery)
        }
        weigh(plugin, at: keyspace.revision, &sessions, &delivery, &deadlines)
    }

    /// Tells the supervisor if a plugin has become wanted. If it no longer is, plans a check for later.
    func weigh(
        _ plugin: SupervisedPlugin,
        at revision: UInt64,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ deadlines: inout Deadlines
    ) {
        guard let demand = plugin.demand else { return }
        if plugin.isNeeded {
            if demand.isWanted { return }
            demand.isWanted = true
            return tellDemand(plugin, at: revision, &sessions, &delivery)
        }
        guard demand.isWanted, !demand.isTimed else { return }
        demand.isTimed = true
        demand.quietSince = max(demand.quietSince, deadlines.now)
        deadlines.add(at: demand.quietSince + demand.idleNanoseconds, .idle(plugin: plugin.number))
    }

    /// The planned check: tells the supervisor if nobody has wanted a plugin for long enough.
    func checkIdle(
        _ number: Int,
        now: UInt64,
        at revision: UInt64,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ deadlines: inout Deadlines
    ) {
        guard let plugin = plugin(number), let demand = plugin.demand else { return }
        demand.isTimed = false
        guard demand.isWanted, !plugin.isNeeded else { return }
        if isBusy(plugin, sessions) { demand.quietSince = now }
        guard now >= demand.quietSince + demand.idleNanoseconds else {
            demand.isTimed = true
            deadlines.add(at: demand.quietSince + demand.idleNanoseconds, .idle(plugin: number))
            return
        }
        demand.isWanted = false
        tellDemand(plugin, at: revision, &sessions, &delivery)
    }

    /// Whether it still has calls to answer.
    private func isBusy(_ plugin: SupervisedPlugin, _ sessions: borrowing SessionTable) -> Bool {
        for slot in 0..<sessions.slotCount {
            guard let session = sessions.inSlot(slot), sessions[session].clearance?.plugin === plugin,
                let duties = sessions[session].duties
            else { continue }
            if !duties.toAnswer.isEmpty { return true }
        }
        return false
    }

    private func tellDemand(
        _ plugin: SupervisedPlugin,
        at revision: UInt64,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        guard let reporter, let demand = plugin.demand else { return }
        var event = delivery.takeLine()
        EventEncoder.appendDemand(plugin: plugin.name, isWanted: demand.isWanted, to: &event)
        delivery.send(event, to: reporter, at: revision, &sessions)
    }
}
