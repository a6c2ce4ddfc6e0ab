// Calls in a hub without sockets: what each side gets, and the limits.

import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Calls", .computing)
struct CallTests {
    @Test("a call in the turn in which a server is closed goes to the next in line")
    func sparesAtOnce() {
        let bare = TestHub()
        let (first, spare, caller) = (bare.client(), bare.client(), bare.client())
        for server in [first, spare] {
            _ = bare.tell(#"{"op":"serve","key":"a","spare":true}"#, from: server)
            _ = bare.tell("serve b", from: server)
        }
        bare.hub.setAside(first, .slow)
        bare.take("call a", from: caller)
        let told = bare.lines(of: spare)
        #expect(told.count == 2 && told.first == #"{"event":"serving","key":"a"}"#, "\(told)")
        #expect(told.last?.hasPrefix(#"{"event":"call","call":"1","key":"a""#) == true)
        #expect(bare.tell("call b", from: caller).first?.contains("no_provider") == true)
    }

    @Test("a server that is behind gets each call after what it was owed by then, whatever comes meanwhile")
    func behind() throws {
        let hub = TestHub()
        let (server, caller) = (hub.client(), hub.client())
        hub.send("serve s\nsubscribe k.*", from: server)
        _ = hub.read(server)
        hub.stopReading(server)
        let value = String(repeating: "v", count: 20_000)
        var told: [String] = []
        // All keys are written again in each round, so something is owed at any time.
        for round in 1...3 {
            for key in 1...100 { hub.send("publish k.\(key) \"\(value)\"", from: caller) }
            hub.send(#"{"op":"call","id":\#(round),"key":"s"}"#, from: caller)
            told += hub.readSome(server)
        }
        // It is still owed something, and its own requests don't wait for the calls.
        hub.send(#"{"op":"publish","id":"own","key":"own","value":1}"#, from: server)
        #expect(hub.ask("get own", from: caller).contains(#""value":1"#))
        let before = told.count { $0.contains(#""event":"call""#) }
        told += hub.read(server)
        func place(_ part: String) throws -> Int { try #require(told.firstIndex { $0.contains(part) }) }
        #expect(before > 0)
        let calls = try (1...3).map { try place(#""event":"call","call":"\#($0)""#) }
        #expect(calls == calls.sorted())
        // Each comes after the writes before it, as far as these weren't overwritten.
        #expect(try place(#""revision":300,"#) < calls[2])
        #expect(try calls[2] < place(#""ok":"publish","id":"own""#))
    }

    @Test("a client that is behind and says goodbye gets the answers that waited for events, and no events")
    func answersBeforeGoodbye() {
        let hub = TestHub()
        let (server, caller) = (hub.client(), hub.client())
        hub.send("serve s", from: server)
        hub.send(#"{"op":"subscribe","key":"k","initial":false}"#, from: caller)
        _ = hub.read(caller)
        hub.stopReading(caller)
        hub.send("publish k 1", from: server)
        hub.send(#"{"op":"call","id":1,"key":"s"}"#, from: caller)
        hub.send(#"{"op":"return","call":"1","value":2}"#, from: server)
        let told = hub.ask(#"{"op":"goodbye","id":2}"#, from: caller).split(separator: "\n")
        #expect(told.count == 3 && told[0].hasPrefix(#"{"ok":"call","id":1,"key":"s","value":2"#), "\(told)")
        #expect(told.dropFirst().first?.hasPrefix(#"{"ok":"goodbye","id":2"#) == true)
    }

    @Test("a client in line counts as one that serves, for its limit and its user's list")
    func sparesCount() {
        let hub = TestHub()
        let (server, caller) = (hub.client(), hub.client())
        for number in 0..<Limits.servicesMax {
            hub.send("serve k\(number)", from: server)
            hub.send(#"{"op":"serve","key":"k\#(number)","spare":true}"#, from: caller)
        }
        #expect([server, caller].allSatisfy { hub.read($0).count == Limits.servicesMax })
        #expect(hub.code("serve other", from: server) == "limit")
        #expect(hub.code("serve other", from: caller) == "limit")
        #expect(hub.code("unserve k7\nserve other", from: caller) == "ok")
        // Each service is listed with its line; together they are at most 1,000.
        let listed = hub.ask("get $broker.services", from: hub.client())
        let spare = ##","spares":[{"client":2,"name":"#2"}]}"##
        #expect(listed.ranges(of: spare).count == Limits.listedServicesMax / 2)
        #expect(listed.contains(#"],"more":true}"#))
    }
}

@Suite("Whom the latest calls went to")
struct AskedClientsTests {
    @Test("is known of so many calls, and of none before")
    func limit() {
        var asked = AskedClients(capacity: 4)
        for call in 1...9 as ClosedRange<UInt64> {
            asked.set(100 + call, for: call)
            #expect(asked.wasAsked(100 + call, call))
            for earlier in 1...call {
                #expect(asked.wasAsked(100 + earlier, earlier) == (call - earlier < 4))
                #expect(!asked.wasAsked(99, earlier))
            }
            #expect(!asked.wasAsked(100 + call, call + 1))
        }
        #expect(!asked.wasAsked(0, 0))
    }

    @Test("is who got the call in the end")
    func moved() {
        var asked = AskedClients()
        asked.set(1, for: 1)
        asked.set(1, for: 2)
        asked.set(7, for: 1)
        #expect(asked.wasAsked(7, 1) && !asked.wasAsked(1, 1) && asked.wasAsked(1, 2))
    }
}
