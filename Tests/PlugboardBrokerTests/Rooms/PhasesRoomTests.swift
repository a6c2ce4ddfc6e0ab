// The room of phases, with keys and deadlines and without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of phases", .computing)
struct PhasesRoomTests {
    /// A room with one key, and a subscription of phase 1 that acknowledges.
    private final class Rooms {
        var phases = Phases()
        var keyspace = Keyspace(time: .system)
        var matching = Matching()
        var deadlines = Deadlines()
        let key: ObservableHandle
        let subscription: SubscriptionHandle

        init() {
            var sessions = SessionTable()
            let session = sessions.insert(Session(client: 1, slot: 0))
            var options = RequestOptions()
            (options.phase, options.acknowledges) = (1, true)
            subscription = matching.add(StaticString("1").bytes, of: session, options, nil)
            matching.attach(subscription, of: 1, to: StaticString("a").bytes, &keyspace)
            key = keyspace.findOrInsert(StaticString("a").bytes)
        }

        func close(revision: UInt64) {
            let barrier = AckBarrier(phase: 1, told: [subscription], earlier: [])
            let ticket = deadlines.add(at: 5_000, .gate(key))
            let gate = Gate(barrier, revision: revision, until: 5_000, ticket)
            phases.close(key, gate, told: barrier.told, &matching)
        }

        func acknowledge(upTo revision: UInt64) -> Gate? {
            var opened: Gate?
            for entry in phases.takeAwaited(by: subscription, upTo: revision) {
                opened = phases.release(entry, by: subscription) ?? opened
                matching.reach.release(entry.observable)
            }
            return opened
        }

        func broken() -> BrokenInvariant? {
            var living = Living()
            (living.observables, living.subscriptions) = ([key], [subscription])
            var owedBy: [ObservableHandle: Int] = [:]
            do throws(BrokenInvariant) {
                try phases.checkInvariants(living, matching, deadlines, &owedBy)
                try Invariants(of: "Reach").agree("owed", matching.reach.owedBy(key), owedBy[key] ?? 0)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("a gate holds a key back from later phases only, until all have acknowledged")
    func gate() {
        let rooms = Rooms()
        rooms.close(revision: 4)
        let held = [UInt8(0), 1, 2].map { rooms.phases.holds(rooms.key, from: $0) }
        #expect(held == [false, false, true] && rooms.phases.count == 1 && rooms.broken() == nil)
        #expect(rooms.acknowledge(upTo: 3) == nil && rooms.phases.holds(rooms.key, from: 2))
        let opened = rooms.acknowledge(upTo: 4)
        #expect(opened?.revision == 4)
        rooms.phases.open(rooms.key, &rooms.matching, &rooms.deadlines)
        #expect(
            rooms.phases.isEmpty && rooms.deadlines.count == 0 && rooms.matching.reach.owedBy(rooms.key) == 0)
        #expect(rooms.broken() == nil)
    }

    @Test("who is late at a gate has nothing to acknowledge any more, and the key may go")
    func late() {
        let rooms = Rooms()
        rooms.close(revision: 4)
        #expect(rooms.phases.awaits(rooms.key, from: rooms.subscription)?.revision == 4)
        rooms.phases.giveUp(rooms.key, &rooms.matching)
        #expect(rooms.phases.awaits(rooms.key, from: rooms.subscription) == nil)
        rooms.phases.open(rooms.key, &rooms.matching, &rooms.deadlines)
        #expect(rooms.matching.reach.owedBy(rooms.key) == 0 && rooms.broken() == nil)
    }

    @Test("a gate without its deadline is noticed")
    func endless() {
        let rooms = Rooms()
        rooms.close(revision: 4)
        if let gate = rooms.phases.gate(of: rooms.key) { rooms.deadlines.cancel(gate.ticket) }
        #expect(rooms.broken()?.sentence == "the deadline of a gate is there")
    }
}
