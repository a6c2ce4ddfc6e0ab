// How each mistake is made, looked at and undone: undone, so that the bus can end in peace.

import PlugboardWire
import Testing

@testable import PlugboardBroker

extension StateMistake {
    /// Makes the mistake, has `look` see it, and undoes it.
    func make(in bus: BusyBus, _ look: () -> Void) throws {
        switch self {
        case .keyTooMany, .bytesTooMany, .revisionTooSmall: miscount(in: bus, look)
        case .owedTooOften, .forgottenObserver, .observerTwice, .lostGeneration:
            try mistakeObservable(in: bus, look)
        case .lostBond, .lostExpiry, .authorTooOften: try mistakeValue(in: bus, look)
        case .wrongPlace, .wrongIndex, .lostSession, .lostRhythm, .lostTracer, .lostPause:
            try mistakeSubscription(in: bus, look)
        case .touchedTwice, .touchedUnlisted, .dismissedForNothing: mistakeTurn(in: bus, look)
        case .lostGateDeadline, .lostGateSerial, .lostAcknowledgement: try mistakeGate(in: bus, look)
        case .owedTooMany, .queuedTooMany, .awaitedTooMany, .lostReady: try mistakeCatchup(in: bus, look)
        case .lostReply, .lostReason, .durableTooMany: mistakeSession(in: bus, look)
        case .wrongCallPlace, .lostCallDeadline, .heldTooMany, .lostDemand: try mistakeCall(in: bus, look)
        case .chargedTooMuch, .lostAccount: try mistakeAccount(in: bus, look)
        }
    }

    private func miscount(in bus: BusyBus, _ look: () -> Void) {
        let (keys, revision) = (bus.bare.hub.keyCount, bus.bare.hub.revision)
        let bytes = bus.bare.hub.durability.liveBytes
        switch self {
        case .keyTooMany: bus.bare.hub.keyCount += 1
        case .bytesTooMany: bus.bare.hub.durability.noteGrowth(1)
        default: bus.bare.hub.revision = 3
        }
        look()
        (bus.bare.hub.keyCount, bus.bare.hub.revision) = (keys, revision)
        bus.bare.hub.durability.noteGrowth(bytes - bus.bare.hub.durability.liveBytes)
    }

    private func mistakeObservable(in bus: BusyBus, _ look: () -> Void) throws {
        let plain = try bus.observable("a.plain")
        switch self {
        case .owedTooOften:
            plain.pointee.owedBy += 1
            look()
            plain.pointee.owedBy -= 1
        case .forgottenObserver:
            let foundLast = plain.pointee.observers.popLast()
            let last = try #require(foundLast)
            look()
            plain.pointee.observers.append(last)
        case .observerTwice:
            let foundFirst = plain.pointee.exactObservers.first
            let first = try #require(foundFirst)
            plain.pointee.exactObservers.append(first)
            look()
            _ = plain.pointee.exactObservers.popLast()
        default:
            let gone = try bus.observable("a.gone")
            let generation = gone.pointee.generation
            gone.pointee.generation = 0
            look()
            gone.pointee.generation = generation
        }
    }

    private func mistakeValue(in bus: BusyBus, _ look: () -> Void) throws {
        let timed = try bus.observable("a.timed")
        let bond = timed.pointee.marks.bond
        switch self {
        case .lostBond:
            timed.pointee.marks.bond = nil
            look()
            timed.pointee.marks.bond = bond
        case .lostExpiry:
            let foundTicket = bus.bare.hub.lifetimes.bond(of: timed)?.ticket
            let ticket = try #require(foundTicket)
            bus.bare.hub.deadlines.cancel(ticket)
            look()
        default:
            let foundAuthor = timed.pointee.writer
            let author = try #require(foundAuthor)
            Author.retain(author)
            look()
            Author.release(author)
        }
    }

    private func mistakeSubscription(in bus: BusyBus, _ look: () -> Void) throws {
        let (plain, rhythm) = (bus.subscription(0, of: bus.observer), bus.subscription(2, of: bus.observer))
        let tracer = bus.subscription(3, of: bus.observer)
        switch self {
        case .wrongPlace:
            plain.pointee.place += 1
            look()
            plain.pointee.place -= 1
        case .wrongIndex:
            plain.pointee.keys.mutableElements[0].index += 1
            look()
            plain.pointee.keys.mutableElements[0].index -= 1
        case .lostSession:
            bus.bare.hub.sessions.remove(bus.slow)
            look()
            bus.bare.hub.sessions.insert(bus.slow)
        case .lostRhythm:
            bus.bare.hub.windowed[rhythm.pointee.serial] = plain
            look()
            bus.bare.hub.windowed[rhythm.pointee.serial] = rhythm
        case .lostTracer:
            tracer.pointee.isTracer = false
            look()
            tracer.pointee.isTracer = true
        default:
            bus.bare.take(#"{"op":"pause","sub":1}"#, from: bus.observer)
            bus.bare.take("publish a.plain 5", from: bus.writer)
            bus.endTurn()
            plain.pointee.backlog?.pointee.isPaused = false
            look()
        }
    }

    private func mistakeTurn(in bus: BusyBus, _ look: () -> Void) {
        switch self {
        case .touchedTwice:
            bus.bare.hub.touch(bus.writer)
            bus.bare.hub.touched.append(bus.writer)
            look()
            bus.bare.hub.touched.removeAll()
            bus.writer.pointee.isTouched = false
        case .touchedUnlisted:
            bus.writer.pointee.isTouched = true
            look()
            bus.writer.pointee.isTouched = false
        default:
            bus.bare.hub.slow.append(bus.writer)
            look()
            bus.bare.hub.slow.removeAll()
        }
    }

    private func mistakeGate(in bus: BusyBus, _ look: () -> Void) throws {
        let observable = try bus.observable("gate")
        let foundGate = bus.bare.hub.gates.gates[observable]
        let gate = try #require(foundGate)
        let tax = bus.subscription(0, of: bus.tax)
        switch self {
        case .lostGateDeadline:
            bus.bare.hub.deadlines.cancel(gate.ticket)
            look()
        case .lostGateSerial:
            bus.bare.hub.gates.bySerial[gate.serial + 1] = observable
            look()
            bus.bare.hub.gates.bySerial[gate.serial + 1] = nil
        default:
            let awaited = bus.bare.hub.gates.awaited.removeValue(forKey: tax)
            look()
            bus.bare.hub.gates.awaited[tax] = awaited
        }
    }

    private func mistakeCatchup(in bus: BusyBus, _ look: () -> Void) throws {
        let foundCatchup = bus.slow.pointee.catchup
        let catchup = try #require(foundCatchup)
        let first = bus.subscription(0, of: bus.slow)
        switch self {
        case .owedTooMany:
            catchup.pointee.owedCount += 1
            look()
            catchup.pointee.owedCount -= 1
        case .queuedTooMany:
            catchup.pointee.queuedBytes += 1
            look()
            catchup.pointee.queuedBytes -= 1
        case .awaitedTooMany:
            first.pointee.backlog?.pointee.awaitedCount += 1
            look()
            first.pointee.backlog?.pointee.awaitedCount -= 1
        default:
            let foundLast = catchup.pointee.ready.popLast()
            let last = try #require(foundLast)
            look()
            catchup.pointee.ready.append(last)
        }
    }

    private func mistakeSession(in bus: BusyBus, _ look: () -> Void) {
        switch self {
        case .lostReply:
            bus.slow.pointee.isHeld = false
            look()
            bus.slow.pointee.isHeld = true
        case .lostReason:
            bus.slow.pointee.isBehind = false
            look()
            bus.slow.pointee.isBehind = true
        default:
            bus.writer.pointee.awaitedWrites += 1
            look()
            bus.writer.pointee.awaitedWrites -= 1
        }
    }

    private func mistakeCall(in bus: BusyBus, _ look: () -> Void) throws {
        let foundCall = bus.guest.pointee.duties?.pointee.made.first
        let call = try #require(foundCall)
        switch self {
        case .wrongCallPlace:
            call.pointee.callerPlace += 1
            look()
            call.pointee.callerPlace -= 1
        case .lostCallDeadline:
            let foundDeadline = call.pointee.deadline
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
            bus.bare.hub.supervision.reporter = reporter.map { $0 + 1 }
            look()
            bus.bare.hub.supervision.reporter = reporter
        }
    }

    private func mistakeAccount(in bus: BusyBus, _ look: () -> Void) throws {
        let foundClearance = bus.guest.pointee.clearance
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
