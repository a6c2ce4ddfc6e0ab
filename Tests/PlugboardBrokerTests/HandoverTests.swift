// What a broker leaves to the next one: by its journal, or without one in two files without names. Both are the same,
// and neither gives a value more time than it had.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

@Suite("what a broker leaves to the next", .computing)
struct HandoverTests {
    private static let keys = (0..<8).map { "k.\($0)" }
    private static let deepest =
        String(repeating: "[", count: Limits.depthMax) + String(repeating: "]", count: Limits.depthMax)

    private let clock = SimulatedTime()
    private let disk = SimulatedDisk()
    private var time: TimeSource { TimeSource(clock) }

    /// A hub that goes on with the journal on the disk.
    private func keptHub(boot: String = "first") throws -> TestHub {
        let hub = TestHub(time: time)
        try hub.keepJournal(on: disk, JournalOptions(), boot: boot)
        return hub
    }

    /// The next broker in this process, by files without names, or one that finds the journal.
    private func next(
        after kept: TestHub, hasJournal: Bool, boot: String = "first", setBack: UInt64 = 0
    ) throws -> TestHub {
        if hasJournal { try kept.hub.durability.close(revision: kept.hub.revision) }
        clock.setClock(back: setBack)
        if hasJournal { return try keptHub(boot: boot) }
        let next = TestHub(time: time)
        next.hub.deadlines.boot = boot
        try next.hub.goOn(with: try kept.hub.carry(time))
        return next
    }

    /// All that a client can find out.
    private func all(of hub: TestHub) -> [String] {
        let client = hub.client()
        let keys = Self.keys.flatMap { ["get \($0)", "why \($0)"] }
        let places = (0...hub.hub.revision).flatMap {
            [#"{"op":"subscribe","sub":1,"key":"**","since":\#($0),"when":true}"#, "unsubscribe 1"]
        }
        return ["revision \(hub.hub.revision)"] + (keys + places).map { hub.ask($0, from: client) }
    }

    /// One step of a random history.
    private func step(_ kept: TestHub, _ clients: inout [SessionHandle], _ random: inout SeededRandom) {
        let key = Self.keys[random.below(Self.keys.count)]
        let place = random.below(clients.count)
        let cause = random.oneIn(3) ? #","cause":\#(random.below(Int(kept.hub.revision) + 1))"# : ""
        func publish(_ more: String) -> String {
            #"{"op":"publish","key":"\#(key)","value":{"n":\#(random.below(9))}\#(more)\#(cause)}"#
        }
        let line =
            switch random.below(11) {
            case 0, 1: "delete \(key)"
            case 2, 3: #"{"op":"emit","key":"\#(key)","value":1\#(cause)}"#
            case 4: publish(#","while":"connected""#)
            case 5: publish(#","ttl":\#(random.below(20) + 1)"#)
            case 6: #"{"op":"patch","key":"\#(key)","value":{"m":\#(random.below(9))}}"#
            case 7:
                #"{"op":"batch","writes":[{"op":"publish","key":"k.0","value":1},{"op":"emit","key":"k.0","value":2},"#
                    + #"{"op":"publish","key":"k.1","value":\#(Self.deepest)}]}"#
            default: publish("")
            }
        kept.tell(line, from: clients[place])
        if random.oneIn(12) {
            kept.forget(clients[place])
            clients[place] = kept.client()
        }
    }

    @Test(
        "a program with a grace comes back to the next broker, by the journal and without",
        arguments: [true, false])
    func grace(hasJournal: Bool) throws {
        let kept = try keptHub()
        let hello = #"{"op":"hello","name":"cart","grace":1000}"#
        let (cart, other) = (kept.client(), kept.client())
        kept.tell(hello, from: cart)
        for (key, client) in [("a", cart), ("b", other)] {
            kept.tell(#"{"op":"publish","key":"\#(key)","value":1,"while":"connected"}"#, from: client)
        }
        kept.tell(#"{"op":"publish","key":"timed","value":1,"while":"connected","ttl":1500}"#, from: cart)
        // What is left of it nobody waits for.
        let gone = kept.client()
        kept.tell(#"{"op":"hello","name":"gone","grace":1000}"#, from: gone)
        kept.tell(#"{"op":"publish","key":"c","value":1,"while":"connected"}"#, from: gone)
        kept.tell("publish c 2", from: kept.client())
        // It has no name yet, so nobody can come back for what it has written.
        kept.tell(#"{"op":"hello","name":"till","grace":3600000}"#, from: other)
        try kept.keepTurn()
        kept.hub.keyspace.close()
        let hub = try next(after: kept, hasJournal: hasJournal)
        let end = time.nanoseconds() + 1_000_000_000
        let asker = hub.client()
        #expect(hub.hub.graces.waiting.count == 1)
        let value =
            ##"{"ok":"get","key":"a","revision":1,"value":1,"by":"cart","when":"2026-01-01T00:00:01Z","live":false,"##
        #expect(hub.ask("get a", from: asker) == value + ##""while":"connected","grace":1000}"##)
        #expect(hub.code("get b", from: asker) == "not_found")
        hub.hub.expire(now: end - 1)
        #expect(hub.ask(hello, from: hub.client()).contains(#""resumed":true"#))
        hub.hub.expire(now: end)
        #expect(hub.ask("get a", from: asker) == value + ##""while":"connected"}"##)
        #expect(hub.ask("get timed", from: asker).contains(#""ttl":500"#))
        try hub.hub.checkInvariants()
        hub.hub.expire(now: end + 500_000_000)
        #expect(hub.code("get timed", from: asker) == "not_found")
    }

    @Test("a hand-over in memory leaves what the journal leaves, after any history", arguments: 0..<60)
    func same(seed: Int) throws {
        var random = SeededRandom(seed)
        let kept = try keptHub()
        kept.tell("subscribe **", from: kept.client())
        var clients = (0..<3).map { _ in kept.client() }
        kept.tell("hello till", from: clients[0])
        kept.tell(#"{"op":"hello","name":"cart","grace":3600000}"#, from: clients[1])
        for _ in 0..<60 {
            step(kept, &clients, &random)
            if random.oneIn(3) { try kept.keepTurn() }
            if random.oneIn(4) {
                try kept.keepTurn()
                let unit: UInt64 = random.oneIn(3) ? 100_000_000 : 1_000_000
                clock.advance(nanoseconds: UInt64(random.below(12)) * unit)
                kept.hub.expire(now: time.nanoseconds())
            }
        }
        try kept.keepTurn()
        kept.hub.keyspace.close()
        let hubs = try [false, true].map { try next(after: kept, hasJournal: $0) }
        #expect(all(of: hubs[0]) == all(of: hubs[1]))
        #expect(hubs[0].brokenInvariant() == nil)
    }

    @Test(
        "the time of a value goes on over a restart, of the machine too, also if the clock was set back",
        arguments: [0, 5_000, 7_200_000, 31_536_000_000],
        [("first", true), ("second", true), ("first", false)]
    )
    func timeGoesOn(setBack: UInt64, life: (boot: String, hasJournal: Bool)) throws {
        let kept = try keptHub()
        let times = ["short": 10_000, "longest": Limits.integerMax]
        for (key, time) in times {
            kept.tell(#"{"op":"publish","key":"\#(key)","value":1,"ttl":\#(time)}"#, from: kept.client())
        }
        try kept.keepTurn()
        clock.advance(nanoseconds: 4_000_000_000)
        let hub = try next(after: kept, hasJournal: life.hasJournal, boot: life.boot, setBack: setBack)
        for (key, time) in times {
            let left = number("ttl", in: hub.ask("get \(key)", from: hub.client()))
            #expect(left == Int(time) - 4_000, "\(key)")
        }
    }
}
