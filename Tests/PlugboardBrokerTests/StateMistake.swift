// Mistakes in the state of a broker. Each is made in a busy bus, found and undone, so that the bus can end without a
// trap.

import PlugboardMemory
import PlugboardWire
import Testing

@testable import PlugboardBroker

/// A mistake in the state: a wrong number, the name of something that is gone, a list in which an element
/// is missing, a reason that was lost.
struct StateMistake: CustomTestStringConvertible, Sendable {
    /// The structure and the sentence with which the mistake is found.
    let structure, sentence: String
    /// Makes the mistake, calls the function, which must find it, and undoes it.
    let make: @Sendable (BusyBus, () -> Void) throws -> Void

    var testDescription: String { "\(structure): \(sentence)" }

    init(
        _ structure: String, _ sentence: String,
        _ make: @escaping @Sendable (BusyBus, () -> Void) throws -> Void
    ) {
        (self.structure, self.sentence, self.make) = (structure, sentence, make)
    }

    static let all = ofKeys + ofReach + ofSubscriptions + ofTurns + ofGates + ofReaders + ofCalls

    private static let ofKeys: [StateMistake] = [
        StateMistake("Keyspace", "it counts the keys with a value") { bus, look in
            // Removes the value without the keyspace's own function, so nothing is counted.
            bus.hub.keyspace[try bus.observable("a.plain")].removeValue()
            look()
        },
        StateMistake("Hub", "it counts the bytes of their records") { bus, look in
            bus.hub.durability.noteGrowth(1)
            look()
            bus.hub.durability.noteGrowth(-1)
        },
        StateMistake("Keyspace", "no value is newer than the bus") { bus, look in
            let (epoch, revision) = (bus.hub.keyspace.epoch, bus.hub.revision)
            bus.hub.keyspace.resume(epoch, at: 3)
            look()
            bus.hub.keyspace.resume(epoch, at: revision)
        },
        StateMistake("Keyspace", "it binds the keys that say so") { bus, look in
            let timed = try bus.observable("a.timed")
            let extras = bus.hub.keyspace.observables.extras(of: timed)
            let bond = bus.hub.keyspace[extras].marks.bond
            bus.hub.keyspace[extras].marks.bond = nil
            bus.hub.keyspace.observables.removeEmptyExtras(of: timed)
            look()
            let again = bus.hub.keyspace.observables.makeExtras(of: timed)
            bus.hub.keyspace[again].marks.bond = bond
        },
        StateMistake("Lifetimes", "the deadline of a bond is there") { bus, look in
            let bond = bus.hub.keyspace.bond(of: try bus.observable("a.timed"))
            bus.hub.deadlines.cancel(try bus.there(bond?.ticket))
            look()
        },
        StateMistake("Author", "it counts who refers to it") { bus, look in
            let timed = try bus.observable("a.timed")
            let author = try bus.there(bus.hub.keyspace.writer(of: timed))
            bus.hub.keyspace.authors.retain(author)
            look()
            bus.hub.keyspace.authors.release(author)
        },
    ]

    private static let ofReach: [StateMistake] = [
        StateMistake("Reach", "it counts who is owed it") { bus, look in
            let plain = try bus.observable("a.plain")
            bus.hub.matching.reach.retain(plain)
            look()
            bus.hub.matching.reach.release(plain)
        },
        StateMistake("Reach", "a key is owed to nobody or to some") { bus, look in
            let gone = try bus.observable("a.gone")
            bus.hub.matching.reach.release(gone)
            look()
            bus.hub.matching.reach.retain(gone)
        },
        StateMistake("Reach", "a key is needed by something") { bus, look in
            let gone = try bus.observable("a.gone")
            let generation = bus.hub.keyspace[gone].generation
            bus.hub.keyspace[gone].generation = 0
            look()
            bus.hub.keyspace[gone].generation = generation
        },
        StateMistake("Observable", "its observers are those who match") { bus, look in
            // As while they are told.
            let plain = try bus.observable("a.plain")
            var observers = List<Recipient>()
            bus.hub.matching.reach.exchange(&observers, of: plain)
            look()
            bus.hub.matching.reach.exchange(&observers, of: plain)
        },
        StateMistake("Subscription", "keys have no observers that are gone") { bus, look in
            let subscription = bus.subscription(0, of: bus.observer)
            let keys = bus.hub.matching[subscription].keys.all
            bus.hub.observeAgain(StaticString("a.plain").bytes, subscription)
            let last = try bus.there(bus.hub.matching[subscription].keys.popLast())
            look()
            bus.hub.matching[subscription].keys.removeAll()
            bus.hub.matching[subscription].keys.append(last)
            bus.hub.observeNothing(subscription)
            bus.hub.matching[subscription].keys.removeAll()
            for place in keys { bus.hub.matching[subscription].keys.append(place) }
        },
        StateMistake("Reach", "without a key there is no audience") { bus, look in
            // The audience isn't told that a key goes.
            let key = bus.hub.keyspace.findOrInsert(StaticString("a.short").bytes)
            bus.hub.matching.reach.retain(key)
            bus.hub.keyspace.remove(key)
            look()
            bus.hub.matching.reach.release(key)
        },
    ]

    private static let ofSubscriptions: [StateMistake] = [
        StateMistake("SubscriptionSet", "a subscription knows its place") { bus, look in
            let plain = bus.subscription(0, of: bus.observer)
            bus.hub.matching[plain].place += 1
            look()
            bus.hub.matching[plain].place -= 1
        },
        StateMistake("Subscription", "it observes its keys where it says") { bus, look in
            let plain = bus.subscription(0, of: bus.observer)
            bus.hub.matching[plain].keys[0].index += 1
            look()
            bus.hub.matching[plain].keys[0].index -= 1
        },
        StateMistake("Window", "the deadline of a rhythm is there") { bus, look in
            let window = bus.hub.matching[bus.subscription(2, of: bus.observer)].backlog?.window
            bus.hub.deadlines.cancel(try bus.there(window?.ticket))
            look()
        },
        StateMistake("Tracing", "it knows all who trace") { bus, look in
            let tracer = bus.subscription(3, of: bus.observer)
            bus.hub.matching[tracer].role = .observes
            look()
            bus.hub.matching[tracer].role = .traces
        },
        StateMistake("Backlog", "what is owed waits for something") { bus, look in
            bus.bare.take(#"{"op":"pause","sub":1}"#, from: bus.observer)
            bus.bare.take("publish a.plain 5", from: bus.writer)
            bus.endTurn()
            bus.hub.matching[bus.subscription(0, of: bus.observer)].backlog?.resume()
            look()
        },
    ]

    private static let ofTurns: [StateMistake] = [
        StateMistake("Delivery", "who is touched is there") { bus, look in
            let gone = bus.bare.client()
            bus.hub.touch(gone)
            bus.hub.forgetButInDelivery(gone)
            look()
            bus.hub.delivery.forgetServed(dirty: 1)
        },
        StateMistake("Delivery", "nobody is touched twice") { bus, look in
            bus.hub.touch(bus.writer)
            bus.hub.sessions[bus.writer].isTouched = false
            bus.hub.touch(bus.writer)
            look()
            bus.hub.forgetTouched()
            bus.hub.sessions[bus.writer].isTouched = false
        },
        StateMistake("Delivery", "who is touched is listed") { bus, look in
            bus.hub.sessions[bus.writer].isTouched = true
            look()
            bus.hub.sessions[bus.writer].isTouched = false
        },
        StateMistake("Delivery", "who is to be dismissed is there, and has been told why") { bus, look in
            bus.hub.setAside(bus.writer, .slow)
            bus.hub.sessions[bus.writer].farewell = nil
            look()
            bus.hub.delivery.forgetDismissed()
        },
        StateMistake("Requests", "no publish waits to be made") { bus, look in
            bus.hub.requests.group.leftOver = LeftOver(start: 0, number: 1)
            look()
            _ = bus.hub.requests.group.leftOver.take()
        },
        StateMistake("Requests", "who is busy waits") { bus, look in
            bus.hub.sessions[bus.writer].isBusy = true
            look()
            bus.hub.sessions[bus.writer].isBusy = false
        },
    ]

    private static let ofGates: [StateMistake] = [
        StateMistake("Phases", "the deadline of a gate is there") { bus, look in
            let gate = try bus.there(bus.hub.phases.gate(of: try bus.observable("gate")))
            bus.hub.deadlines.cancel(gate.ticket)
            look()
        },
        StateMistake("Deadlines", "one for each gate") { bus, look in
            // A gate that was closed is closed again.
            let observable = try bus.observable("gate")
            bus.hub.closeAgain(observable, try bus.there(bus.hub.phases.gate(of: observable)))
            look()
        },
        StateMistake("Phases", "a gate waits for who was told") { bus, look in
            // What was acknowledged is not said to the gate.
            _ = bus.hub.phases.takeAwaited(by: bus.subscription(0, of: bus.tax), upTo: .max)
            look()
        },
    ]

    private static let ofReaders: [StateMistake] = [
        StateMistake("Catchup", "it counts the keys that are owed") { bus, look in
            let catchup = try bus.there(bus.hub.sessions[bus.slow].catchup)
            catchup.owedCount += 1
            look()
            catchup.owedCount -= 1
        },
        StateMistake("Catchup", "it counts the bytes that are queued") { bus, look in
            let catchup = try bus.there(bus.hub.sessions[bus.slow].catchup)
            catchup.queuedBytes += 1
            look()
            catchup.queuedBytes -= 1
        },
        StateMistake("Backlog", "a gap that is awaited is there") { bus, look in
            let backlog = try bus.there(bus.hub.matching[bus.subscription(1, of: bus.slow)].backlog)
            backlog.awaitGap()
            look()
            _ = backlog.takeGap()
        },
        StateMistake("Backlog", "only what is paused is stepped") { bus, look in
            let backlog = try bus.there(bus.hub.matching[bus.subscription(1, of: bus.slow)].backlog)
            backlog.step(1)
            look()
            backlog.resume()
        },
        StateMistake("Catchup", "it lists what is ready, each once") { bus, look in
            let catchup = try bus.there(bus.hub.sessions[bus.slow].catchup)
            let last = try bus.there(catchup.ready.popLast())
            look()
            catchup.ready.append(last)
        },
        StateMistake("Session", "it is held while a reply waits") { bus, look in
            bus.hub.sessions[bus.slow].isHeld = false
            look()
            bus.hub.sessions[bus.slow].isHeld = true
        },
        StateMistake("Session", "it is behind while something is to come first") { bus, look in
            bus.hub.sessions[bus.slow].isBehind = false
            look()
            bus.hub.sessions[bus.slow].isBehind = true
        },
        StateMistake("DurableReplies", "a session counts its replies") { bus, look in
            bus.hub.sessions[bus.writer].awaitedWrites += 1
            look()
            bus.hub.sessions[bus.writer].awaitedWrites -= 1
        },
    ]

    private static let ofCalls: [StateMistake] = [
        StateMistake("Calls", "its caller knows it") { bus, look in
            let call = try bus.there(bus.hub.sessions[bus.guest].duties?.made.first)
            call.callerPlace += 1
            look()
            call.callerPlace -= 1
        },
        StateMistake("Calls", "a call ends in time") { bus, look in
            let call = try bus.there(bus.hub.sessions[bus.guest].duties?.made.first)
            bus.hub.deadlines.cancel(try bus.there(call.deadline))
            look()
        },
        StateMistake("HeldCalls", "a plugin counts its calls") { bus, look in
            let plugin = try bus.there(bus.hub.supervision.plugin(named: "lamp"))
            plugin.heldCalls += 1
            look()
            plugin.heldCalls -= 1
        },
        StateMistake("Calls", "a service stands at its pattern or in its line") { bus, look in
            bus.bare.take(#"{"op":"serve","key":"sum","spare":true}"#, from: bus.tax)
            let service = try bus.there(bus.hub.calls.server(of: StaticString("sum").bytes))
            let spares = service.spares
            service.spares = []
            look()
            service.spares = spares
        },
        StateMistake("Supervision", "who reports is there") { bus, look in
            let reporter = bus.hub.supervision.reporter
            bus.hub.supervision.reporter = reporter.map { _ in .none }
            look()
            bus.hub.supervision.reporter = reporter
        },
        StateMistake("Account", "it counts what is taken up") { bus, look in
            let account = try bus.there(bus.hub.sessions[bus.guest].clearance?.account)
            account.used.keys += 1
            look()
            account.used.keys -= 1
        },
        StateMistake("Account", "it counts what is taken up") { bus, look in
            bus.hub.access.common.used.owed += 1
            look()
            bus.hub.access.common.used.owed -= 1
        },
    ]
}
