// Durable requests that write nothing to the journal. Whatever is asked is answered, and not before everything
// that came before is on disk.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Durable requests", .computing)
struct DurableHubTests {
    private let test = BareHub()
    private let disk = SimulatedDisk()
    private let client: SessionHandle

    init() throws {
        try test.keepJournal(on: disk)
        test.hub.access = Access(owner: 1_000)
        test.hub.supervision.supervisor = 7
        client = test.client(PeerIdentity(process: 7, user: 1_000))
    }

    private func batch(_ id: Int, _ writes: String = "") -> String {
        #"{"op":"batch","id":\#(id),"durable":true,"writes":[\#(writes)]}"#
    }

    /// Ends a turn as the loop does. Returns the answers to what waited for the disk.
    private func keep() throws -> [String] {
        var answers: [String] = []
        // The news of a sync may come in the next turn.
        for _ in 0..<3 {
            try test.hub.keepRecords()
            answers += test.lines(of: client)
            test.endTurn()
        }
        return answers
    }

    private static let emit = #"{"op":"emit","key":"a","value":1}"#

    @Test("what writes nothing waits for what came before, and only for that", arguments: ["", emit])
    func nothing(writes: String) throws {
        #expect(test.send(batch(1, writes), from: client) == [#"{"ok":"batch","id":1,"revision":0}"#])
        test.send(#"{"op":"publish","key":"a","value":1}"#, from: client)
        #expect(test.send(batch(2, writes), from: client).isEmpty)
        #expect(test.send(batch(3, writes), from: client).isEmpty)
        let syncs = disk.kinds.count { $0 == "sync" }
        #expect(
            try keep() == [#"{"ok":"batch","id":2,"revision":1}"#, #"{"ok":"batch","id":3,"revision":1}"#]
        )
        #expect(disk.kinds.count { $0 == "sync" } > syncs)
        #expect(test.send(batch(4, writes), from: client) == [#"{"ok":"batch","id":4,"revision":1}"#])
        #expect(test.hub.sessions[client].awaitedWrites == 0)
        #expect(test.brokenInvariant() == nil)
    }

    @Test("what is answered counts no more: real writes are still possible after very many")
    func count() throws {
        for id in 0...Limits.durablesMax {
            test.take(batch(id), from: client)
            test.take(#"{"op":"batch","durable":true,"writes":[]}"#, from: client)
        }
        let answers = test.lines(of: client)
        #expect(answers.count == Limits.durablesMax + 1 && !answers.contains { $0.contains("error") })
        test.take(#"{"op":"publish","key":"a","value":1}"#, from: client)
        // The limit is of those that wait.
        for id in 1...Limits.durablesMax { test.take(batch(id), from: client) }
        #expect(test.lines(of: client).isEmpty)
        #expect(test.send(batch(0), from: client).first?.contains(#""error":"limit""#) == true)
        #expect(try keep().count == Limits.durablesMax)
        #expect(test.send(batch(0), from: client) == [#"{"ok":"batch","id":0,"revision":1}"#])
    }

    @Test("a write of a key that isn't kept is answered, too")
    func reserved() throws {
        let report = #"{"name":"lamp","state":"running","pid":1200}"#
        for id in 1...2 {
            let line =
                #"{"op":"publish","id":\#(id),"key":"$broker.plugins.lamp","value":\#(report),"#
                + #""while":"connected","durable":true}"#
            #expect(test.send(line, from: client).isEmpty)
            #expect(try keep() == [#"{"ok":"publish","id":\#(id),"revision":\#(id)}"#])
        }
        #expect(test.send(batch(3), from: client) == [#"{"ok":"batch","id":3,"revision":2}"#])
    }

    @Test("goodbye waits for them, and is the last answer", arguments: ["", emit])
    func goodbye(writes: String) throws {
        test.take(#"{"op":"publish","id":1,"key":"a","value":1,"durable":true}"#, from: client)
        test.take(batch(2, writes), from: client)
        test.take(#"{"op":"goodbye","id":3}"#, from: client)
        test.take(#"{"op":"publish","id":4,"key":"a","value":2}"#, from: client)
        #expect(test.lines(of: client).isEmpty)
        let answers = try keep()
        #expect(
            answers == [#"{"ok":"publish","id":1,"revision":1}"#, #"{"ok":"batch","id":2,"revision":1}"#]
        )
        test.hub.answerGoodbye(of: client)
        let last = test.lines(of: client)
        #expect(last.first == #"{"ok":"goodbye","id":3,"revision":1}"#)
        #expect(last.count == 2 && last[1].hasPrefix(#"{"event":"bye","reason":"goodbye""#))
        test.hub.answerGoodbye(of: client)
        #expect(test.lines(of: client).isEmpty)
    }
}
