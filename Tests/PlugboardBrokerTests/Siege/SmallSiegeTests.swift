// The siege by steps instead of time: no turn does more than its budgets allow, and a bystander is answered
// within a few turns, whatever the others ask for. So that this can fail, each attacker is tried on a broker
// without budgets, too.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a small siege, by steps", .computing)
struct SmallSiegeTests {
    private static let turns = 200

    @Test("no turn does too much, and a bystander is answered within a few", arguments: SmallAttack.all)
    func bounded(attack: SmallAttack) throws {
        let stage = try SiegeStage(hasSlices: true, sharesCopies: attack.sharesCopies)
        let start = try attack.prepare(stage)
        let (most, all) = try stage.watch(turns: Self.turns, attack.measure, after: start)
        #expect(most <= attack.most)
        #expect(all > attack.most, "in one turn, that would be too much")
        #expect(stage.turnsMost <= attack.turnsMost)
        #expect(stage.answers >= (Self.turns - attack.turnsMost) / 4)
    }

    @Test("without slices each has its way", arguments: SmallAttack.all.filter { !$0.hasFixedBudget })
    func unbounded(attack: SmallAttack) throws {
        let stage = try SiegeStage(hasSlices: false, sharesCopies: attack.sharesCopies)
        let start = try attack.prepare(stage)
        let most = try stage.watch(turns: Self.turns, attack.measure, after: start).most
        #expect(most > attack.most)
    }

    @Test(
        "the watchdog gets its signs of life, however much is asked for: no turn is left out, and none is long",
        arguments: SmallAttack.all.filter { !$0.hasFixedBudget }
    )
    func signsOfLife(attack: SmallAttack) throws {
        let stage = try SiegeStage(hasSlices: true)
        try attack.prepare(stage)()
        // A broker that hangs begins no turn, and gives none.
        #expect(stage.signsOfLife(turns: 49, seconds: 10) == 5)
    }

    @Test("a broker that stops sends who reads on what came before, and then why")
    func stopping() throws {
        let stage = try SiegeStage(hasSlices: true)
        let (observer, writer) = (try stage.connect(), try stage.connect())
        try stage.ask(#"{"op":"subscribe","key":"news","initial":false}"#, observer)
        observer.reads = false
        try stage.ask("publish news 1", writer)
        try stage.stop(reading: observer)
        let lines = observer.take().lines.map { String(decoding: $0, as: UTF8.self) }
        #expect(lines.count == 2 && lines[0].contains(#""event":"update""#))
        #expect(lines.last?.contains(#""reason":"stopping""#) == true)
    }

    @Test("who has hung up waits for no answer: what it sent still counts, and then it is gone")
    func hungUp() throws {
        let stage = try SiegeStage(hasSlices: true)
        let keys = 64 * SiegeStage.visits
        try stage.ask((0..<keys).map { "publish k\($0) 1" }.joined(separator: "\n"), stage.connect())
        let (before, closings) = (stage.keyCount, stage.closings)
        let links = try (0..<8).map { _ in try stage.connect() }
        for (number, link) in links.enumerated() {
            stage.send("subscribe **\npublish last.\(number) 1\nsubscribe *\npublish end.\(number) 1\n", link)
        }
        try stage.turn()
        for link in links { stage.close(link) }
        var turns = 0
        while stage.closings < closings + links.count, turns < 1_000 {
            try stage.turn()
            turns += 1
        }
        // Each snapshot alone would take 64 turns.
        #expect(turns < 64 && stage.keyCount == before + 2 * links.count, "\(turns) turns")
        try stage.checkInvariants()
    }

    @Test("who says goodbye and sends nothing more gets all its answers", arguments: [0, 1])
    func goodbye(fewer: Int) throws {
        let stage = try SiegeStage(hasSlices: false)
        let (server, caller) = (try stage.connect(), try stage.connect())
        try stage.ask("serve sum", server)
        let (call, goodbye) = (#"{"op":"call","id":1,"key":"sum"}"# + "\n", #"{"op":"goodbye","id":2"#)
        // A read that brings as much as it can is followed by another, which finds the end.
        let spaces = EventLoop<SiegeNetwork>.readBytes - fewer - call.utf8.count - goodbye.utf8.count - 2
        stage.send(call + goodbye + String(repeating: " ", count: spaces) + "}\n", caller)
        caller.isHalfClosed = true
        #expect(try stage.news(of: server).contains(#""call":"1""#))
        #expect(try stage.news(of: caller).isEmpty)
        try stage.ask(#"{"op":"return","call":"1","value":3}"#, server)
        let news = try stage.news(of: caller).split(separator: "\n")
        let starts = [#"{"ok":"call","id":1"#, #"{"ok":"goodbye","id":2"#, #"{"event":"bye""#]
        #expect(news.count == 3 && zip(news, starts).allSatisfy { $0.hasPrefix($1) }, "\(news)")
        #expect(stage.closings == 1)
    }

    @Test("who waits in line with half a line is not listed as ready in each turn until then")
    func listedOnce() throws {
        let stage = try SiegeStage(hasSlices: true)
        let crowd = 200
        let links = try (0..<crowd).map { _ in try stage.connect() }
        for link in links { stage.send("{", link) }
        let other = try stage.connect()
        for _ in 0..<40 { try stage.ask("sync", other) }
        let listed = try stage.watch(turns: 20, \.listed) { for link in links { stage.send(" ", link) } }
        // When it is listed again, it isn't watched any more.
        #expect(listed.all <= 2 * crowd + 20)
        // Each was read, and is heard again.
        let again = try stage.watch(turns: 20, \.readBytes) { for link in links { stage.send(" ", link) } }
        #expect(again.all > crowd)
    }

    @Test("who hangs up is listed once, however long its turn takes to come, and all that it sent is read")
    func hungUpOnce() throws {
        let stage = try SiegeStage(hasSlices: true)
        let crowd = 200
        let links = try (0..<crowd).map { _ in try stage.connect() }
        let other = try stage.connect()
        for (number, link) in links.enumerated() { stage.send("publish siege.last.k\(number) 1\n", link) }
        let listed = try stage.watch(turns: 40, \.listed) { for link in links { stage.close(link) } }
        #expect(listed.all <= crowd + 40)
        _ = try stage.reply(to: "sync\n", from: other)
        #expect(stage.keyCount == crowd + 1)
    }

    private static let keys = 2_000

    /// A broker with many values that end after a second, and two clients.
    private func stage(hasSlices: Bool, besides: String = "") throws
        -> (SiegeStage, writer: SiegeStage.Link, other: SiegeStage.Link)
    {
        let stage = try SiegeStage(hasSlices: hasSlices)
        let (writer, other) = (try stage.connect(), try stage.connect())
        let writes = (0..<Self.keys).map {
            #"{"op":"publish","key":"k.k\#($0)","value":7,"ttl":1000}"# + "\n"
        }
        try stage.ask(writes.joined() + besides, writer)
        return (stage, writer, other)
    }

    @Test(
        "keys and snapshots never show a key that has expired, however late its turn comes",
        arguments: ["keys k.*", "subscribe k.*"]
    )
    func expiredAmongOthers(request: String) throws {
        // Without slices, all keys are looked at before any of them has had its turn.
        let (stage, _, reader) = try stage(hasSlices: false, besides: "publish k.z 1")
        stage.time.advance(nanoseconds: 1_000_000_000)
        stage.send(request + "\n", reader)
        let text = try stage.news(of: reader) + stage.news(of: reader)
        #expect(text.contains("k.z"))
        #expect(!text.contains("k.k"))
        #expect(stage.keyCount == 1)
    }

    @Test("a get never shows a key that has expired, however late its turn comes")
    func expired() throws {
        let (stage, writer, reader) = try stage(hasSlices: true)
        try stage.ask("subscribe k.*", writer)
        let last = "get k.k\(Self.keys - 1)\n"
        #expect(try stage.reply(to: last, from: reader).contains(#""ok":"get""#))
        stage.time.advance(nanoseconds: 1_000_000_000)
        #expect(try stage.reply(to: last, from: reader).contains(#""error":"not_found""#))
        // Most others are still there, and each is told of once.
        #expect(stage.keyCount > Self.keys / 2)
        var deletes = 0
        for _ in 0..<Self.keys / Deadlines.firedPerTurnMax {
            deletes += try stage.reply(to: "sync\n", from: writer).split(separator: "\n").count {
                $0.contains(#""event":"delete""#) && $0.contains(#""reason":"expired""#)
            }
        }
        #expect(stage.keyCount == 0)
        #expect(deletes == Self.keys)
    }

    /// Lines about a key whose value has expired, and a part of their replies: as if there were no value.
    private static let onExpired: [(line: String, reply: String)] = [
        (#"{"op":"add","id":1,"key":"K","value":1}"#, #""value":1}"#),
        (#"{"op":"patch","id":1,"key":"K","value":{"a":1}}"#, #""ok":"patch""#),
        (#"{"op":"publish","id":1,"key":"K","value":2,"if":0}"#, #""ok":"publish""#),
        (#"{"op":"delete","id":1,"key":"K"}"#, #""error":"not_found""#),
        (#"{"op":"batch","id":1,"writes":[{"op":"add","key":"K","value":1,"if":0}]}"#, #""ok":"batch""#),
        (#"{"op":"explain","id":1,"write":{"op":"delete","key":"K"}}"#, #""error":"not_found""#),
        ("why K", #""reason":"expired""#),
        ("who K", #""observers":[]}"#),
    ]

    @Test("no line finds a value that has expired, however late its turn comes", arguments: onExpired)
    func expiredForAll(line: String, reply: String) throws {
        let (stage, _, other) = try stage(hasSlices: true)
        let asked = line.replacing("K", with: "k.k\(Self.keys - 1)") + "\n"
        stage.time.advance(nanoseconds: 1_000_000_000)
        // What has fallen due is looked at in a turn. Then most others are still there.
        let text = try stage.reply(to: "sync\n", from: other) + stage.reply(to: asked, from: other)
        #expect(stage.keyCount > Self.keys / 2)
        #expect(text.contains(reply), "\(text)")
    }

    @Test("no observer is sent half of a batch, however many there are", arguments: [false, true])
    func batch(isTraced: Bool) throws {
        let stage = try SiegeStage(hasSlices: true)
        let observers = try (0..<SiegeStage.served * 5).map { _ in
            let observer = try stage.connect()
            try stage.ask(#"{"op":"subscribe","key":"**","initial":false}"#, observer)
            return observer
        }
        if isTraced { try stage.ask("trace b", try stage.connect()) }
        for observer in observers { _ = observer.take() }
        let parts = 5
        let writes = (0..<parts).map { #"{"op":"publish","key":"k\#($0)","value":1}"# }.joined(separator: ",")
        let batches = 40
        let writer = try stage.connect()
        stage.send(String(repeating: #"{"op":"batch","writes":[\#(writes)]}"# + "\n", count: batches), writer)
        var told = Array(repeating: 0, count: observers.count)
        var turns = 0
        while told.contains(where: { $0 < batches * parts }), turns < 1_000 {
            turns += 1
            try stage.turn()
            for (place, observer) in observers.enumerated() {
                let lines = observer.take().count { $0 == 0x0A }
                #expect(lines.isMultiple(of: parts))
                told[place] += lines
            }
        }
        #expect(turns > observers.count / SiegeStage.served, "in one turn, nobody would be told later")
        #expect(told.allSatisfy { $0 == batches * parts })
    }
}
