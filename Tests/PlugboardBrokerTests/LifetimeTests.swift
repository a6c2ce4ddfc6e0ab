import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("What ends by itself", .someAtATime, .serialized)
struct LifetimeTests {
    /// An observer of everything that has got its snapshot.
    private func observer(_ broker: TestBroker) throws -> TestClient {
        let client = try broker.client()
        try client.send(#"{"op":"subscribe","key":"**","old":true}"#)
        for _ in 0..<2 { _ = try client.line() }
        return client
    }

    private func publish(_ key: String, _ rest: String) -> String {
        #"{"op":"publish","id":1,"key":"\#(key)","value":1,\#(rest)}"#
    }

    @Test("a key never expires before its time, and soon after", arguments: PollerKind.allCases)
    func punctual(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let reader = try observer(broker)
        for milliseconds: UInt64 in [1, 7, 30] {
            let sent = MonotonicClock.nanoseconds()
            try reader.send(publish("k", #""ttl":\#(milliseconds)"#))
            for _ in 0..<2 { _ = try reader.line() }
            #expect(try reader.line().contains(#""event":"delete""#))
            let passed = MonotonicClock.nanoseconds() - sent
            #expect(passed >= milliseconds * 1_000_000)
            #expect(passed < milliseconds * 1_000_000 + 2_000_000_000)
        }
    }

    @Test("the broker's own goodbye is an end as well: the will is done, keys go")
    func dismissed() throws {
        let broker = try TestBroker()
        let reader = try observer(broker)
        let writer = try broker.client()
        _ = try writer.ask(publish("on", #""while":"connected""#))
        _ = try writer.ask(#"will publish state "lost""#)
        let tooLong = [UInt8](repeating: UInt8(ascii: "x"), count: Limits.lineBytesMax + 1) + [0x0A]
        for _ in 0...Limits.overlongLinesMax { try writer.send(bytes: tooLong) }
        for _ in 0...Limits.overlongLinesMax { _ = try writer.line() }
        #expect(try writer.line().hasPrefix(#"{"event":"bye","reason":"too_long""#))
        #expect(try reader.line().contains(#""key":"on","revision":1"#))
        #expect(try reader.line().hasSuffix(##""revision":2,"value":"lost","by":"#2","reason":"will"}"##))
        #expect(try reader.line().hasSuffix(##""revision":3,"old":1,"by":"#2","reason":"disconnected"}"##))
        #expect(try writer.lineOrEnd() == nil)
        #expect(try reader.untimed("get state").contains(#""reason":"will","live":false}"#))
    }

    @Test("a broker that stops makes no last writes for its clients")
    func stopping() throws {
        let broker = try TestBroker()
        // The first that is sent away is the writer, so the reader is still there.
        let writer = try broker.client()
        let reader = try observer(broker)
        _ = try writer.ask(publish("on", #""while":"connected""#))
        _ = try reader.line()
        _ = try writer.ask("will emit alarm 1")
        broker.stop()
        #expect(try writer.line().hasPrefix(#"{"event":"bye","reason":"stopping""#))
        #expect(try reader.line().hasPrefix(#"{"event":"bye","reason":"stopping""#))
        #expect(try reader.lineOrEnd() == nil)
    }

    @Test("a will larger than most, and wills of many clients, are each done once")
    func manyWills() throws {
        let broker = try TestBroker()
        let reader = try observer(broker)
        let size = Limits.valueBytesMax - 2
        do {
            var clients: [TestClient] = []
            for index in 0..<50 {
                let client = try broker.client()
                let text = String(repeating: "w", count: index == 0 ? size : 10)
                #expect(try client.ask(#"will publish w.\#(index) "\#(text)""#).hasPrefix(#"{"ok":"will""#))
                clients.append(client)
            }
        }
        var keys: Set<String> = []
        for _ in 0..<50 {
            let line = try reader.line()
            #expect(line.hasSuffix(#","reason":"will"}"#))
            let key = line.split(separator: "\"", maxSplits: 12)[9]
            keys.insert(String(key))
        }
        #expect(keys.count == 50)
        #expect(try reader.ask("sync") == #"{"ok":"sync","revision":50}"#)
    }
}
