// How each mistake is made, found and undone. It is undone so that the bus can end without a trap.

import PlugboardMemory
import PlugboardWire
import Testing

@testable import PlugboardBroker

extension StateMistake {
    /// Makes the mistake, calls `look`, which must find it, and undoes it.
    func make(in bus: BusyBus, _ look: () -> Void) throws {
        switch self {
        case .bytesTooMany, .revisionTooSmall: miscount(in: bus, look)
        case .keyTooMany, .lostGeneration: try mistakeObservable(in: bus, look)
        case .owedTooOften, .owedToFewerThanNobody, .forgottenObserver, .observerTwice, .audienceWithoutKey:
            try mistakeReach(in: bus, look)
        case .lostBond, .lostExpiry, .authorTooOften: try mistakeValue(in: bus, look)
        case .wrongPlace, .wrongIndex, .staleSession, .lostRhythm, .lostTracer, .lostPause:
            try mistakeSubscription(in: bus, look)
        case .touchedTwice, .touchedUnlisted, .dismissedForNothing: mistakeTurn(in: bus, look)
        case .lostGateDeadline, .gateClosedTwice, .lostAcknowledgement: try mistakeGate(in: bus, look)
        case .owedTooMany, .queuedTooMany, .awaitedForNothing, .lostReady: try mistakeCatchup(in: bus, look)
        case .lostReply, .lostReason, .durableTooMany: mistakeSession(in: bus, look)
        case .wrongCallPlace, .lostCallDeadline, .heldTooMany, .lostDemand: try mistakeCall(in: bus, look)
        case .chargedTooMuch, .lostAccount: try mistakeAccount(in: bus, look)
        }
    }

    private func miscount(in bus: BusyBus, _ look: () -> Void) {
        let (epoch, revision) = (bus.bare.hub.keyspace.epoch, bus.bare.hub.revision)
        switch self {
        case .bytesTooMany:
            bus.bare.hub.durability.noteGrowth(1)
            look()
            bus.bare.hub.durability.noteGrowth(-1)
        default:
            bus.bare.hub.keyspace.resume(epoch, at: 3)
            look()
            bus.bare.hub.keyspace.resume(epoch, at: revision)
        }
    }

    private func mistakeObservable(in bus: BusyBus, _ look: () -> Void) throws {
        let plain = try bus.observable("a.plain")
        switch self {
        case .keyTooMany:
            // Removes the value without the keyspace's own function, so nothing is counted.
            bus.bare.hub.keyspace[plain].removeValue()
            look()
        default:
            let gone = try bus.observable("a.gone")
            let generation = bus.bare.hub.keyspace[gone].generation
            bus.bare.hub.keyspace[gone].generation = 0
            look()
            bus.bare.hub.keyspace[gone].generation = generation
        }
    }

    private func mistakeReach(in bus: BusyBus, _ look: () -> Void) throws {
        let (plain, gone) = (try bus.observable("a.plain"), try bus.observable("a.gone"))
        switch self {
        case .owedTooOften:
            bus.bare.hub.matching.reach.retain(plain)
            look()
            bus.bare.hub.matching.reach.release(plain)
        case .owedToFewerThanNobody:
            bus.bare.hub.matching.reach.release(gone)
            look()
            bus.bare.hub.matching.reach.retain(gone)
        case .forgottenObserver:
            // As while they are told.
            var observers = List<Recipient>()
            bus.bare.hub.matching.reach.exchange(&observers, of: plain)
            look()
            bus.bare.hub.matching.reach.exchange(&observers, of: plain)
        case .observerTwice:
            let subscription = bus.subscription(0, of: bus.observer)
            let keys = bus.bare.hub.matching[subscription].keys.all
            bus.bare.hub.observeAgain(StaticString("a.plain").bytes, subscription)
            let foundLast = bus.bare.hub.matching[subscription].keys.popLast()
            let last = try #require(foundLast)
            look()
            bus.bare.hub.matching[subscription].keys.removeAll()
            bus.bare.hub.matching[subscription].keys.append(last)
            bus.bare.hub.observeNothing(subscription)
            bus.bare.hub.matching[subscription].keys.removeAll()
            for place in keys { bus.bare.hub.matching[subscription].keys.append(place) }
        default:
            // The audience isn't told that a key goes.
            let key = bus.bare.hub.keyspace.findOrInsert(StaticString("a.short").bytes)
            bus.bare.hub.matching.reach.retain(key)
            bus.bare.hub.keyspace.remove(key)
            look()
            bus.bare.hub.matching.reach.release(key)
        }
    }

    private func mistakeValue(in bus: BusyBus, _ look: () -> Void) throws {
        let timed = try bus.observable("a.timed")
        let extras = bus.bare.hub.keyspace.observables.extras(of: timed)
        let bond = bus.bare.hub.keyspace[extras].marks.bond
        switch self {
        case .lostBond:
            bus.bare.hub.keyspace[extras].marks.bond = nil
            bus.bare.hub.keyspace.removeEmptyExtras(of: timed)
            look()
            let again = bus.bare.hub.keyspace.makeExtras(of: timed)
            bus.bare.hub.keyspace[again].marks.bond = bond
        case .lostExpiry:
            let foundTicket = bus.bare.hub.keyspace.bond(of: timed)?.ticket
            let ticket = try #require(foundTicket)
            bus.bare.hub.deadlines.cancel(ticket)
            look()
        default:
            let foundAuthor = bus.bare.hub.keyspace.writer(of: timed)
            let author = try #require(foundAuthor)
            bus.bare.hub.keyspace.retain(author)
            look()
            bus.bare.hub.keyspace.release(author)
        }
    }

    private func mistakeSubscription(in bus: BusyBus, _ look: () -> Void) throws {
        let (plain, rhythm) = (bus.subscription(0, of: bus.observer), bus.subscription(2, of: bus.observer))
        let tracer = bus.subscription(3, of: bus.observer)
        switch self {
        case .wrongPlace:
            bus.bare.hub.matching[plain].place += 1
            look()
            bus.bare.hub.matching[plain].place -= 1
        case .wrongIndex:
            bus.bare.hub.matching[plain].keys[0].index += 1
            look()
            bus.bare.hub.matching[plain].keys[0].index -= 1
        case .staleSession:
            let gone = bus.bare.client()
            bus.bare.hub.touch(gone)
            bus.bare.hub.forgetButInDelivery(gone)
            look()
            bus.bare.hub.delivery.forgetServed(dirty: 1)
        case .lostRhythm:
            let foundTicket = bus.bare.hub.matching[rhythm].backlog?.window?.ticket
            bus.bare.hub.deadlines.cancel(try #require(foundTicket))
            look()
        case .lostTracer:
            bus.bare.hub.matching[tracer].role = .observes
            look()
            bus.bare.hub.matching[tracer].role = .traces
        default:
            bus.bare.take(#"{"op":"pause","sub":1}"#, from: bus.observer)
            bus.bare.take("publish a.plain 5", from: bus.writer)
            bus.endTurn()
            bus.bare.hub.matching[plain].backlog?.resume()
            look()
        }
    }

    private func mistakeTurn(in bus: BusyBus, _ look: () -> Void) {
        switch self {
        case .touchedTwice:
            bus.bare.hub.touch(bus.writer)
            bus.bare.hub.sessions[bus.writer].isTouched = false
            bus.bare.hub.touch(bus.writer)
            look()
            bus.bare.hub.forgetTouched()
            bus.bare.hub.sessions[bus.writer].isTouched = false
        case .touchedUnlisted:
            bus.bare.hub.sessions[bus.writer].isTouched = true
            look()
            bus.bare.hub.sessions[bus.writer].isTouched = false
        default:
            bus.bare.hub.setAside(bus.writer, .slow)
            bus.bare.hub.sessions[bus.writer].farewell = nil
            look()
            bus.bare.hub.delivery.forgetDismissed()
        }
    }

    private func mistakeGate(in bus: BusyBus, _ look: () -> Void) throws {
        let observable = try bus.observable("gate")
        let foundGate = bus.bare.hub.phases.gate(of: observable)
        let gate = try #require(foundGate)
        let tax = bus.subscription(0, of: bus.tax)
        switch self {
        case .lostGateDeadline: bus.bare.hub.deadlines.cancel(gate.ticket)
        // A gate that was closed is closed again.
        case .gateClosedTwice: bus.bare.hub.closeAgain(observable, gate)
        // What was acknowledged is not said to the gate.
        default: _ = bus.bare.hub.phases.takeAwaited(by: tax, upTo: .max)
        }
        look()
    }

    private func mistakeCatchup(in bus: BusyBus, _ look: () -> Void) throws {
        let foundCatchup = bus.bare.hub.sessions[bus.slow].catchup
        let catchup = try #require(foundCatchup)
        let first = bus.subscription(0, of: bus.slow)
        switch self {
        case .owedTooMany:
            catchup.owedCount += 1
            look()
            catchup.owedCount -= 1
        case .queuedTooMany:
            catchup.queuedBytes += 1
            look()
            catchup.queuedBytes -= 1
        case .awaitedForNothing:
            let foundBacklog = bus.bare.hub.matching[first].backlog
            let backlog = try #require(foundBacklog)
            backlog.awaitGap()
            look()
            _ = backlog.takeGap()
        default:
            let foundLast = catchup.ready.popLast()
            let last = try #require(foundLast)
            look()
            catchup.ready.append(last)
        }
    }

    private func mistakeSession(in bus: BusyBus, _ look: () -> Void) {
        switch self {
        case .lostReply:
            bus.bare.hub.sessions[bus.slow].isHeld = false
            look()
            bus.bare.hub.sessions[bus.slow].isHeld = true
        case .lostReason:
            bus.bare.hub.sessions[bus.slow].isBehind = false
            look()
            bus.bare.hub.sessions[bus.slow].isBehind = true
        default:
            bus.bare.hub.sessions[bus.writer].awaitedWrites += 1
            look()
            bus.bare.hub.sessions[bus.writer].awaitedWrites -= 1
        }
    }

    private func mistakeCall(in bus: BusyBus, _ look: () -> Void) throws {
        let foundCall = bus.bare.hub.sessions[bus.guest].duties?.made.first
        let call = try #require(foundCall)
        switch self {
        case .wrongCallPlace:
            call.callerPlace += 1
            look()
            call.callerPlace -= 1
        case .lostCallDeadline:
            let foundDeadline = call.deadline
            bus.bare.hub.deadlines.cancel(try #require(foundDeadline))
            look()
        case .heldTooMany:
            let foundPlugin = bus.bare.hub.supervision.plugin(named: "lamp")
            let plugin = try #require(foundPlugin)
            plugin.heldCalls += 1
            look()
            plugin.heldCalls -= 1
        default:
            let reporter = bus.bare.hub.supervision.reporter
            bus.bare.hub.supervision.reporter = reporter.map { _ in .none }
            look()
            bus.bare.hub.supervision.reporter = reporter
        }
    }

    private func mistakeAccount(in bus: BusyBus, _ look: () -> Void) throws {
        let foundClearance = bus.bare.hub.sessions[bus.guest].clearance
        let clearance = try #require(foundClearance)
        let foundAccount = clearance.account
        let account = try #require(foundAccount)
        if self == .chargedTooMuch {
            account.keys += 1
            look()
            account.keys -= 1
        } else {
            account.connections -= 1
            look()
            account.connections += 1
        }
    }
}
