// What a broker leaves to the next one: by its journal, or without one in two files without names. Both are the same,
// and neither gives a value more time than it had.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

/// A hub on a simulated disk.
private final class KeptHub {
    let bare: TestHub
    private let time: TimeSource

    init(_ disk: SimulatedDisk, _ time: TimeSource, boot: String = "first") throws {
        (self.time, bare) = (time, TestHub(time: time))
        bare.hub.deadlines.boot = boot
        bare.hub.keyspace.beginLoading()
        var authors = RestoredAuthors()
        var records = RecordBuffer(clock: { time.millisecondsSince1970() })
        let (recovered, writer, epoch) = try Journal.open(
            disk,
            worker: ImmediateWorker(disk),
            options: JournalOptions(),
            boot: boot,
            time: time,
            newEpoch: { "0123456789abcdef" },
            records: &records
        ) { record, line in bare.hub.restore(record, line, &authors) }
        bare.hub.endRestoring(authors, lastRecord: recovered.when)
        bare.hub.keyspace.resume(epoch, at: recovered.revision)
        bare.hub.durability.begin(writer, records)
        try bare.hub.endRestoring(snapshotRevision: recovered.snapshotRevision)
    }

    /// Ends a turn. Its writes are in the journal.
    func endTurn() throws {
        _ = try bare.hub.durability.write(revision: bare.hub.revision)
        bare.dropTurn()
    }

    func close() throws { try bare.hub.durability.close(revision: bare.hub.revision) }

    /// The hub of the next broker in this process, by the files without names.
    func successor(boot: String = "first") throws -> TestHub {
        let next = TestHub(time: time)
        next.hub.deadlines.boot = boot
        try next.hub.goOn(with: try bare.hub.carry(time))
        return next
    }
}

@Suite("what a broker leaves to the next", .computing)
struct HandoverTests {
    private static let keys = (0..<8).map { "k.\($0)" }
    private static let deepest =
        String(repeating: "[", count: Limits.depthMax) + String(repeating: "]", count: Limits.depthMax)

    /// All that a client can find out.
    private func all(of bare: TestHub) -> [String] {
        bare.dropTurn()
        let client = bare.client()
        var lines = ["revision \(bare.hub.revision)"]
        for key in Self.keys {
            lines += bare.tell("get \(key)", from: client)
            lines += bare.tell("why \(key)", from: client)
        }
        for since in 0...bare.hub.revision {
            lines += bare.tell(
                #"{"op":"subscribe","sub":"s","key":"**","since":\#(since),"when":true}"#, from: client)
            lines += bare.tell(#"{"op":"unsubscribe","sub":"s"}"#, from: client)
            bare.dropTurn()
        }
        return lines
    }

    /// One step of a random history.
    private func step(_ kept: KeptHub, _ clients: inout [SessionHandle], _ random: inout SeededRandom) {
        let key = Self.keys[random.below(Self.keys.count)]
        let place = random.below(clients.count)
        let cause = random.oneIn(3) ? #","cause":\#(random.below(Int(kept.bare.hub.revision) + 1))"# : ""
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
        kept.bare.tell(line, from: clients[place])
        if random.oneIn(12) {
            kept.bare.forget(clients[place])
            clients[place] = kept.bare.client()
        }
    }

    @Test(
        "a program with a grace comes back to the next broker, by the journal and without",
        arguments: [true, false])
    func grace(hasJournal: Bool) throws {
        let (clock, disk) = (SimulatedTime(), SimulatedDisk())
        let kept = try KeptHub(disk, TimeSource(clock))
        let hello = #"{"op":"hello","name":"cart","grace":1000}"#
        let (cart, other) = (kept.bare.client(), kept.bare.client())
        kept.bare.tell(hello, from: cart)
        for (key, client) in [("a", cart), ("b", other)] {
            kept.bare.tell(#"{"op":"publish","key":"\#(key)","value":1,"while":"connected"}"#, from: client)
        }
        kept.bare.tell(
            #"{"op":"publish","key":"timed","value":1,"while":"connected","ttl":1500}"#, from: cart)
        // What is left of it nobody waits for.
        let gone = kept.bare.client()
        kept.bare.tell(#"{"op":"hello","name":"gone","grace":1000}"#, from: gone)
        kept.bare.tell(#"{"op":"publish","key":"c","value":1,"while":"connected"}"#, from: gone)
        kept.bare.tell("publish c 2", from: kept.bare.client())
        // It has no name yet, so nobody can come back for what it has written.
        kept.bare.tell(#"{"op":"hello","name":"till","grace":3600000}"#, from: other)
        try kept.endTurn()
        kept.bare.hub.keyspace.close()
        let next = try hasJournal ? nil : kept.successor()
        try kept.close()
        let bare = try next ?? KeptHub(disk, TimeSource(clock)).bare
        let end = TimeSource(clock).nanoseconds() + 1_000_000_000
        let asker = bare.client()
        #expect(bare.hub.graces.absences.count == 1)
        let value =
            ##"{"ok":"get","key":"a","revision":1,"value":1,"by":"cart","when":"2026-01-01T00:00:01Z","live":false,"##
        #expect(bare.tell("get a", from: asker) == [value + ##""while":"connected","grace":1000}"##])
        #expect(bare.tell("get b", from: asker).first?.contains("not_found") == true)
        bare.hub.expire(now: end - 1)
        #expect(bare.tell(hello, from: bare.client()).first?.contains(#""resumed":true"#) == true)
        bare.hub.expire(now: end)
        #expect(bare.tell("get a", from: asker) == [value + ##""while":"connected"}"##])
        #expect(bare.tell("get timed", from: asker).first?.contains(#""ttl":500"#) == true)
        try bare.hub.checkInvariants()
        bare.hub.expire(now: end + 500_000_000)
        #expect(bare.tell("get timed", from: asker).first?.contains("not_found") == true)
    }

    @Test("a hand-over in memory leaves what the journal leaves, after any history", arguments: 0..<60)
    func same(seed: Int) throws {
        var random = SeededRandom(seed)
        let (clock, disk) = (SimulatedTime(), SimulatedDisk())
        let kept = try KeptHub(disk, TimeSource(clock))
        let observer = kept.bare.client()
        kept.bare.tell("subscribe **", from: observer)
        var clients = (0..<3).map { _ in kept.bare.client() }
        kept.bare.tell("hello till", from: clients[0])
        kept.bare.tell(#"{"op":"hello","name":"cart","grace":3600000}"#, from: clients[1])
        for _ in 0..<60 {
            step(kept, &clients, &random)
            if random.oneIn(3) { try kept.endTurn() }
            if random.oneIn(4) {
                try kept.endTurn()
                let unit: UInt64 = random.oneIn(3) ? 100_000_000 : 1_000_000
                clock.advance(nanoseconds: UInt64(random.below(12)) * unit)
                kept.bare.hub.expire(now: TimeSource(clock).nanoseconds())
            }
        }
        try kept.endTurn()
        kept.bare.hub.keyspace.close()
        let next = try kept.successor()
        try kept.close()
        let later = try KeptHub(disk, TimeSource(clock))
        let (one, other) = (all(of: next), all(of: later.bare))
        #expect(one == other)
        #expect(next.brokenInvariant() == nil)
    }

    /// How much time a value with a ttl of 10 s has left after 4 s and a restart.
    private func left(setBack: UInt64, boot: String, isCarried: Bool) throws -> UInt64? {
        let (clock, disk) = (SimulatedTime(), SimulatedDisk())
        let kept = try KeptHub(disk, TimeSource(clock))
        kept.bare.tell(#"{"op":"publish","key":"k","value":1,"ttl":10000}"#, from: kept.bare.client())
        try kept.endTurn()
        clock.advance(nanoseconds: 4_000_000_000)
        if !isCarried { try kept.close() }
        clock.setClock(back: setBack)
        let next =
            isCarried ? try kept.successor(boot: boot) : try KeptHub(disk, TimeSource(clock), boot: boot).bare
        let now = TimeSource(clock).nanoseconds()
        return next.hub.deadlines.next.map { ($0 - now) / 1_000_000 }
    }

    @Test(
        "the time of a value goes on over a restart, of the machine too, also if the clock was set back",
        arguments: [0, 5_000, 7_200_000, 31_536_000_000], ["first", "second"]
    )
    func timeGoesOn(setBack: UInt64, boot: String) throws {
        #expect(try left(setBack: setBack, boot: boot, isCarried: false) == 6_000)
        // What is carried in memory is of the same boot.
        #expect(try left(setBack: setBack, boot: "first", isCarried: true) == 6_000)
    }
}
