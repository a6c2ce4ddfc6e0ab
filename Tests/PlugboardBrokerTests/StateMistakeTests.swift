// Mistakes in the state are found in the turn in which they are made. Also tests of real mistakes that
// were found in this way and don't happen any more.

import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

@Suite("what always holds", .computing)
struct StateMistakeTests {
    @Test("a bus in which something of everything goes on breaks nothing")
    func whole() throws {
        let bus = try BusyBus()
        #expect(bus.bare.brokenInvariant() == nil)
        let owed = bus.bare.hub.sessions[bus.slow].backlog?.owedCount ?? 0
        let (isHeld, bound) = (bus.bare.hub.sessions[bus.slow].isHeld, bus.bare.hub.keyspace.lifetimes.count)
        #expect(owed > 1 && isHeld && bound == 3)
        let waiting = (bus.bare.hub.phases.isEmpty, bus.bare.hub.durability.replies.count == 0)
        #expect(waiting == (false, false) && bus.bare.hub.calls.heldBytes > 0)
    }

    @Test("each mistake is found in the turn in which it is made", arguments: StateMistake.all)
    func found(mistake: StateMistake) throws {
        let bus = try BusyBus()
        try mistake.make(bus)
        let found = try #require(bus.bare.brokenInvariant(), "it is not found")
        #expect(found.structure == mistake.structure && found.sentence == mistake.sentence, "\(found)")
    }

    @Test("a subscription that is written off has no rhythm any more")
    func writtenOff() {
        let bare = TestHub()
        let (observer, writer) = (bare.client(), bare.client())
        bare.take(#"{"op":"subscribe","key":"a","every":1000}"#, from: observer)
        bare.take("publish a 1", from: writer)
        bare.hub.writeOff(bare.hub.sessions[observer].subscriptions.list[0])
        #expect(bare.hub.deadlines.count == 0)
    }

    @Test("a subscription that goes on while it is read what it missed has replies wait again")
    func goingOnWithReading() {
        let bare = TestHub()
        let observer = bare.client()
        bare.take("subscribe a", from: observer)
        bare.take("pause 1", from: observer)
        let subscription = bare.hub.sessions[observer].subscriptions.list[0]
        bare.hub.replay(to: subscription, from: ReadPlace(segment: 0), after: 0)
        bare.hub.settle(observer)
        let wasBehind = bare.hub.sessions[observer].isBehind
        bare.take("resume 1", from: observer)
        let isBehind = bare.hub.sessions[observer].isBehind
        #expect(!wasBehind && isBehind)
        bare.endTurn()
        #expect(bare.brokenInvariant() == nil)
    }

    @Test(
        "a client that has stopped reading and leaves in several turns breaks nothing meanwhile",
        arguments: [
            #""sub":"x""#, #""delivery":"all""#, #""every":1000"#, #""where":{"":{">":0}}"#, #""old":true"#,
        ]
    )
    func leavingInPart(options: String) {
        let hub = TestHub()
        let (leaver, writer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"*",\#(options)}"#, from: leaver)
        hub.send("subscribe a b\nsubscribe b", from: leaver)
        _ = hub.read(leaver)
        hub.stopReading(leaver)
        // What it is owed, a reply that waits for that, and a subscription that begins after the reply.
        hub.send("publish a 1\npublish b 1", from: writer)
        hub.send("subscribe a\nsync", from: leaver)
        var turns = 1
        while !hub.leaveInPart(leaver) {
            hub.send("publish a \(turns)", from: writer)
            turns += 1
        }
        #expect(turns > 3)
        hub.leave(leaver)
    }

    @Test("an observer that is being closed counts until it is gone, and only once")
    func demandOfTheDeparting() {
        let bare = TestHub()
        bare.hub.supervision.supervisor = 7
        let up = bare.client(process: 7)
        let (one, other) = (bare.client(), bare.client())
        for observer in [one, other] { bare.take("subscribe lamp.a", from: observer) }
        bare.hub.setAside(one, .slow)
        let value = #"{"name":"lamp","state":"idle","start":"demand","may":{"publish":["lamp.*"]}}"#
        bare.take(
            #"{"op":"publish","key":"$broker.plugins.lamp","value":\#(value),"while":"connected"}"#,
            from: up
        )
        bare.hub.leave(one)
        let plugin = bare.hub.supervision.plugin(named: "lamp")
        #expect(plugin?.demand?.observers == 1)
    }

    @Test("who observes a plugin's keys is counted, also if these change, without its own processes")
    func demandOfItself() {
        let hub = TestHub()
        hub.obey(supervisor: 7)
        let (up, own) = (hub.client(process: 7), hub.client(process: 1_201))
        let other = hub.client(process: 1_301)
        for observer in [own, other] { hub.send("subscribe lamp.a\nsubscribe lamp.b", from: observer) }
        func report(_ state: String, _ pattern: String) -> Int? {
            let value = #"{"name":"lamp",\#(state),"start":"demand","may":{"publish":["\#(pattern)"]}}"#
            hub.send(
                #"{"op":"publish","key":"$broker.plugins.lamp","value":\#(value),"while":"connected"}"#,
                from: up
            )
            return hub.hub.supervision.plugin(named: "lamp")?.demand?.observers
        }
        #expect(report(#""state":"idle""#, "lamp.*") == 4)
        #expect(report(#""state":"running","pid":1200"#, "lamp.*") == 2)
        #expect(report(#""state":"running","pid":1200"#, "lamp.a") == 1)
        #expect(report(#""state":"idle""#, "lamp.*") == 2)
    }

    @Test("it is wanted no more when nobody has observed its keys for so long, from the last one's end on")
    func quiet() {
        let hub = TestHub()
        hub.obey(supervisor: 7)
        let (up, observer) = (hub.client(process: 7), hub.client())
        let value = #"{"name":"lamp","start":"demand","idle":30,"may":{"publish":["lamp.*"]}}"#
        hub.send(
            #"{"op":"publish","key":"$broker.plugins.lamp","value":\#(value),"while":"connected"}"#, from: up)
        _ = hub.read(up)
        func told() -> [Bool] { hub.read(up).map { $0.contains(#""wanted":true"#) } }
        hub.send("subscribe lamp.a", from: observer)
        #expect(told() == [true])
        hub.send("unsubscribe 1", from: observer)
        hub.expireAll(after: 10_000)
        hub.send("subscribe lamp.a", from: observer)
        hub.expireAll(after: 29_000)
        hub.send("unsubscribe 1", from: observer)
        for after in [30_001, 58_999] { hub.expireAll(after: UInt64(after)) }
        #expect(told() == [])
        hub.expireAll(after: 59_001)
        #expect(told() == [false])
    }
}

/// A mistake in the state, made in a busy bus: a wrong number, the name of something that is gone, a list in which an element
/// is missing, a reason that was lost.
struct StateMistake: CustomTestStringConvertible, Sendable {
    /// The structure and the sentence with which the mistake is found.
    let structure, sentence: String
    let make: @Sendable (BusyBus) throws -> Void

    var testDescription: String { "\(structure): \(sentence)" }

    init(_ structure: String, _ sentence: String, _ make: @escaping @Sendable (BusyBus) throws -> Void) {
        (self.structure, self.sentence, self.make) = (structure, sentence, make)
    }

    static let all = ofKeys + ofReach + ofSubscriptions + ofTurns + ofGates + ofReaders + ofCalls

    private static let ofKeys: [StateMistake] = [
        StateMistake("Keyspace", "it counts the keys with a value") { bus in
            // Removes the value without the keyspace's own function, so nothing is counted.
            bus.hub.keyspace[try bus.observable("a.plain")].removeValue()
        },
        StateMistake("Hub", "it counts the bytes of their records") { bus in
            bus.hub.durability.records.liveBytes += 1
        },
        StateMistake("Keyspace", "no value is newer than the bus") { bus in
            bus.hub.keyspace.resume(bus.hub.keyspace.epoch, at: 3)
        },
        StateMistake("Keyspace", "it binds the keys that say so") { bus in
            let timed = try bus.observable("a.timed")
            bus.hub.keyspace.set(bond: 0, of: timed)
        },
        StateMistake("Lifetimes", "the deadline of a bond is there") { bus in
            let bond = bus.hub.keyspace.bond(of: try bus.observable("a.timed"))
            bus.hub.deadlines.cancel(try bus.there(bond?.ticket))
        },
        StateMistake("History", "it keeps what says so, once") { bus in
            bus.hub.keyspace[try bus.observable("a.gone")].isRemembered = false
        },
        StateMistake("Author", "it counts who refers to it") { bus in
            let author = bus.hub.keyspace.writer(of: try bus.observable("a.timed"))
            bus.hub.keyspace.authors.retain(try bus.there(author))
        },
    ]

    private static let ofReach: [StateMistake] = [
        StateMistake("Reach", "it counts who is owed it") { bus in
            bus.hub.matching.reach.retain(try bus.observable("a.plain"))
        },
        StateMistake("Reach", "a key is owed to nobody or to some") { bus in
            bus.hub.matching.reach.release(try bus.observable("a.gone"))
        },
        StateMistake("Reach", "a key is needed by something") { bus in
            let observable = try bus.observable("a.gone")
            bus.hub.keyspace[observable].isRemembered = false
            bus.hub.keyspace[observable].lastEntry = .max
        },
        StateMistake("Reach", "a list has observers") { bus in
            // As while they are told.
            var observers = List<ObserverEntry>()
            bus.hub.matching.reach.exchange(&observers, of: try bus.observable("a.plain"))
        },
        StateMistake("Observable", "its observers are those who match") { bus in
            var observers = List<ObserverEntry>()
            bus.hub.matching.reach.exchange(&observers, of: try bus.observable("a.plain"))
            observers.append(observers[0])
            bus.hub.matching.reach.exchange(&observers, of: try bus.observable("a.plain"))
        },
        StateMistake("Matching", "keys have no observers that are gone") { bus in
            let subscription = bus.subscription(0, of: bus.observer)
            bus.hub.observeAgain(StaticString("a.plain").bytes, subscription)
            _ = bus.hub.matching[subscription].keys.popLast()
        },
        StateMistake("Reach", "without a key there is no audience") { bus in
            // The audience isn't told that a key goes.
            let key = bus.hub.keyspace.findOrInsert(StaticString("a.short").bytes)
            bus.hub.matching.reach.retain(key)
            bus.hub.keyspace.remove(key)
        },
    ]

    private static let ofSubscriptions: [StateMistake] = [
        StateMistake("SubscriptionSet", "a subscription knows its place") { bus in
            bus.hub.matching[bus.subscription(0, of: bus.observer)].place += 1
        },
        StateMistake("Matching", "it observes its keys where it says") { bus in
            bus.hub.matching[bus.subscription(0, of: bus.observer)].keys[0].index += 1
        },
        StateMistake("Window", "the deadline of a rhythm is there") { bus in
            let window = bus.hub.matching[bus.subscription(2, of: bus.observer)].backlog?.window
            bus.hub.deadlines.cancel(try bus.there(window?.ticket))
        },
        StateMistake("Tracing", "it knows all who trace") { bus in
            bus.hub.matching[bus.subscription(3, of: bus.observer)].role = .observes
        },
        StateMistake("Backlog", "what is owed waits for something") { bus in
            bus.bare.take(#"{"op":"pause","sub":1}"#, from: bus.observer)
            bus.bare.take("publish a.plain 5", from: bus.writer)
            bus.endTurn()
            bus.hub.matching[bus.subscription(0, of: bus.observer)].backlog?.resume()
        },
    ]

    private static let ofTurns: [StateMistake] = [
        StateMistake("Delivery", "who is touched is there") { bus in
            let gone = bus.bare.client()
            bus.hub.touch(gone)
            bus.hub.forgetButInDelivery(gone)
        },
        StateMistake("Delivery", "nobody is heard twice") { bus in
            bus.hub.touch(first: bus.writer)
            bus.hub.sessions[bus.writer].isServedFirst = false
            bus.hub.touch(first: bus.writer)
        },
        StateMistake("Delivery", "who is touched is listed") { bus in
            bus.hub.sessions[bus.writer].isTouched = true
        },
        StateMistake("Delivery", "who is to be dismissed is told why") { bus in
            bus.hub.setAside(bus.writer, .slow)
            bus.hub.sessions[bus.writer].closeReason = nil
        },
        StateMistake("Requests", "no publish waits to be made") { bus in
            bus.hub.requests.group.leftOver = LeftOver(start: 0, number: 1)
        },
        StateMistake("Requests", "it counts large snapshots") { bus in
            let asked = AskedRequest(Request(), Span(), from: bus.writer)
            _ = bus.hub.requests.mayGoOn(large: DeferredRequest(asked, number: 1, .resumption))
        },
    ]

    private static let ofGates: [StateMistake] = [
        StateMistake("Phases", "the deadline of a gate is there") { bus in
            let gate = try bus.there(bus.hub.phases.gate(of: try bus.observable("gate")))
            bus.hub.deadlines.cancel(gate.ticket)
        },
        StateMistake("Deadlines", "each is waited for") { bus in
            // A gate that was closed is closed again.
            let observable = try bus.observable("gate")
            bus.hub.closeAgain(observable, try bus.there(bus.hub.phases.gate(of: observable)))
        },
        StateMistake("Phases", "a gate waits for who was told") { bus in
            // What was acknowledged is not said to the gate.
            _ = bus.hub.phases.takeAwaited(by: bus.subscription(0, of: bus.tax), upTo: .max)
        },
    ]

    private static let ofReaders: [StateMistake] = [
        StateMistake("SessionBacklog", "it counts the keys that are owed") { bus in
            try bus.there(bus.hub.sessions[bus.slow].backlog).owedCount += 1
        },
        StateMistake("SessionBacklog", "it counts the bytes that are queued") { bus in
            try bus.there(bus.hub.sessions[bus.slow].backlog).queuedBytes += 1
        },
        StateMistake("Backlog", "a snapshot is being found") { bus in
            bus.hub.beginSnapshot(of: bus.subscription(0, of: bus.observer))
        },
        StateMistake("Backlog", "a gap that is awaited is there") { bus in
            try bus.there(bus.hub.matching[bus.subscription(1, of: bus.slow)].backlog).awaitsGap = true
        },
        StateMistake("Backlog", "only what is paused is stepped") { bus in
            try bus.there(bus.hub.matching[bus.subscription(1, of: bus.slow)].backlog).steps = 1
        },
        StateMistake("SessionBacklog", "it lists what is ready, each once") { bus in
            _ = try bus.there(bus.hub.sessions[bus.slow].backlog).ready.popLast()
        },
        StateMistake("Session", "it is behind while something is to come first") { bus in
            bus.hub.sessions[bus.slow].isBehind = false
        },
        StateMistake("DurableReplies", "a session counts its replies") { bus in
            bus.hub.sessions[bus.writer].awaitedWrites += 1
        },
    ]

    private static let ofCalls: [StateMistake] = [
        StateMistake("Calls", "its caller knows it") { bus in
            try bus.there(bus.hub.sessions[bus.guest].calls).made = CallList()
        },
        StateMistake("Calls", "a call ends in time") { bus in
            let call = try bus.there(bus.hub.sessions[bus.guest].calls?.made.first)
            bus.hub.deadlines.cancel(try bus.there(call.deadline))
        },
        StateMistake("Calls", "a plugin knows the calls that wait for it") { bus in
            try bus.there(bus.hub.supervision.plugin(named: "lamp")).heldCalls = CallList()
        },
        StateMistake("Calls", "a service stands in the line of its pattern") { bus in
            bus.bare.take(#"{"op":"serve","key":"sum","spare":true}"#, from: bus.tax)
            let service = try bus.there(bus.hub.sessions[bus.tax].calls?.services.last)
            bus.bare.take(#"{"op":"unserve","key":"sum"}"#, from: bus.tax)
            bus.hub.sessions[bus.tax].makeCalls().services.append(service)
        },
        StateMistake("Supervision", "who reports is there") { bus in
            bus.hub.supervision.reporter = SessionHandle.none
        },
        StateMistake("Account", "it counts what is taken up") { bus in
            try bus.there(bus.hub.sessions[bus.guest].grant?.account).used.keys += 1
        },
        StateMistake("Account", "it counts what is taken up") { bus in
            bus.hub.access.common.used.owed += 1
        },
    ]
}
