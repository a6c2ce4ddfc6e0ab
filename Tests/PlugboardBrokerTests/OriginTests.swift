// The origin of a write: kept as spelled, told wherever the writer is named, and forgotten with what has it.

import Foundation
import PlugboardBroker
import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Who wrote it first", .computing)
struct OriginTests {
    private func publish(_ key: String, _ origin: String) -> String {
        #"{"op":"publish","key":"\#(key)","value":1,"origin":"\#(origin)"}"#
    }

    @Test("one origin of many keys is kept once, and forgotten with the last of them")
    func shared() {
        let test = BareHub()
        let (client, other) = (test.client(), test.client())
        for number in 0..<100 { test.send(publish("k\(number)", "cart@hostB"), from: client) }
        #expect(test.hub.keyspace.authors.elsewhereCount == 1)
        test.send(publish("k0", "cart@hostB"), from: other)
        test.send(publish("k1", "till@hostB"), from: client)
        test.endTurn()
        #expect(test.hub.keyspace.authors.elsewhereCount == 3)
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
        for number in 0..<100 { test.send("publish k\(number) 2", from: client) }
        // The history remembers them for two generations of writes.
        for _ in 0..<4 {
            for _ in 0..<History.writesMax { test.take("publish k 3", from: client) }
            test.endTurn()
        }
        #expect(test.hub.keyspace.authors.elsewhereCount == 0)
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
    }

    @Test("a client that takes another name is told by it, with its origins")
    func renamed() {
        let test = BareHub()
        let client = test.client()
        test.send(publish("a", "x"), from: client)
        test.send("hello bridge", from: client)
        test.send(publish("b", "x"), from: client)
        #expect(test.send("get a", from: client)[0].contains(##""by":"#1","origin":"x","when":"##))
        #expect(test.send("get b", from: client)[0].contains(#""by":"bridge","origin":"x","when":"#))
        test.forget(client)
        #expect(test.send("get b", from: test.client())[0].contains(#""live":false"#))
        test.endTurn()
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
    }

    @Test("an emit that nobody hears, and a delete, leave nothing behind that isn't remembered")
    func unheard() {
        let test = BareHub()
        let client = test.client()
        test.send(#"{"op":"emit","key":"bell","value":1,"origin":"x"}"#, from: client)
        #expect(test.hub.keyspace.authors.elsewhereCount == 0)
        test.send("publish a 1", from: client)
        test.send(#"{"op":"delete","key":"a","origin":"x"}"#, from: client)
        #expect(test.send("why a", from: client)[0].contains(##""by":"#1","origin":"x","when""##))
        test.endTurn()
        #expect(throws: Never.self) { try test.hub.checkInvariants() }
    }

    @Test("a loop of causes is one also if its writes have an origin")
    func loops() {
        let test = BareHub()
        let client = test.client()
        for _ in 0..<40 {
            test.send(
                #"{"op":"publish","key":"a","value":1,"cause":\#(test.hub.revision),"origin":"x"}"#,
                from: client
            )
        }
        #expect(test.send("get $broker.warnings", from: client)[0].contains("loop"))
    }
}

@Suite("Origins in a journal", .someAtATime, .serialized)
struct KeptOriginTests {
    private let home: TemporaryFolder

    init() throws {
        home = try TemporaryFolder(named: "pj")
    }

    private func withBroker(_ options: JournalOptions = JournalOptions(), _ body: (TestBroker) throws -> Void)
        throws
    {
        let broker = try TestBroker(state: home.path + "/state", options)
        try body(broker)
        broker.stop()
    }

    @Test("they are there after a restart, in values, in chains and in what an observer missed")
    func restart() throws {
        try withBroker { broker in
            let client = try broker.client()
            _ = try client.ask("hello bridge")
            _ = try client.ask("publish a 0")
            _ = try client.ask(#"{"op":"publish","id":1,"key":"a","value":1,"origin":"cart@hostB"}"#)
            _ = try client.ask(#"{"op":"publish","id":2,"key":"b","value":1,"origin":"\u0063"}"#)
            _ = try client.ask(#"{"op":"publish","id":3,"key":"c","value":1,"ttl":900000,"origin":"till"}"#)
            _ = try client.ask(#"{"op":"delete","id":4,"key":"b","origin":"cart@hostB"}"#)
            _ = try client.ask("publish d 1")
        }
        for _ in 0..<2 {
            try withBroker { broker in
                let client = try broker.client()
                let a = #""value":1,"by":"bridge","origin":"cart@hostB","live":false}"#
                #expect(try client.untimed("get a").hasSuffix(a))
                let c = #""by":"bridge","origin":"till","live":false,"ttl":"#
                #expect(try client.untimed("get c").contains(c))
                #expect(try client.untimed("get d").hasSuffix(#""value":1,"by":"bridge","live":false}"#))
                let writer = #""writer":{"name":"bridge","origin":"cart@hostB","live":false"#
                #expect(try client.ask("who a").contains(writer))
            }
        }
        try withBroker { broker in
            let client = try broker.client()
            try client.send(#"{"op":"subscribe","id":1,"key":"**","since":1,"delivery":"all"}"#)
            _ = try client.line()
            let origins = [
                #""by":"bridge","origin":"cart@hostB"}"#, #""by":"bridge","origin":"\u0063"}"#,
                #""by":"bridge","origin":"till"}"#, #""by":"bridge","origin":"cart@hostB"}"#,
                #""by":"bridge"}"#,
            ]
            for origin in origins {
                let line = try client.line()
                #expect(line.hasSuffix(origin), "\(line)")
            }
        }
    }
}
