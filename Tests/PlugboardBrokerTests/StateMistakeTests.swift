// Mistakes in the state are found in the turn in which they are made. Also tests of real mistakes that
// were found in this way and don't happen any more.

import PlugboardJournal
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
        let owed = bus.bare.hub.sessions[bus.slow].sessionBacklog?.owedCount ?? 0
        let (isHeld, bound) = (bus.bare.hub.sessions[bus.slow].isHeld, bus.bare.hub.keyspace.lifetimes.count)
        #expect(owed > 1 && isHeld && bound == 3)
        let waiting = (bus.bare.hub.phases.isEmpty, bus.bare.hub.durability.replies.count == 0)
        #expect(waiting == (false, false) && !bus.bare.hub.calls.held.isEmpty)
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
        let bare = BareHub()
        let (observer, writer) = (bare.client(), bare.client())
        bare.take(#"{"op":"subscribe","key":"a","every":1000}"#, from: observer)
        bare.take("publish a 1", from: writer)
        bare.hub.writeOff(bare.hub.sessions[observer].subscriptions.list[0])
        #expect(bare.hub.deadlines.count == 0)
    }

    @Test("a rhythm: what was not told lately is told at the next tick, whatever was told since")
    func rhythm() {
        let hub = TestHub()
        let (observer, writer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"*","every":1000,"initial":false}"#, from: observer)
        for (time, key) in [(0, "a"), (900, "b"), (1_200, "c")] {
            hub.expireAll(after: UInt64(time))
            hub.send("publish \(key) \(time)", from: writer)
        }
        _ = hub.read(observer)
        hub.expireAll(after: 1_500)
        hub.send("publish a 1500", from: writer)
        #expect(hub.read(observer).isEmpty)
        hub.expireAll(after: 1_900)
        #expect(hub.read(observer).contains { $0.contains(#""value":1500"#) })
    }

    @Test("a subscription that goes on while it is read what it missed has replies wait again")
    func goingOnWithReading() {
        let bare = BareHub()
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
        for session in bare.hub.delivery.dirty.all { bare.hub.openOwn(of: session) }
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
        let bare = BareHub()
        bare.hub.supervision.supervisor = 7
        let up = bare.client(.init(process: 7, user: 1))
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
}
