import Foundation
import PlugboardBroker
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@Suite("Connections", .someAtATime, .serialized)
struct ConnectionTests {
    @Test("however fast refusals to make way for another broker follow each other, it goes on")
    func refusals() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        for round in 0..<200 {
            for number in 0..<20 { broker.stay(because: "\(round) \(number)") }
            #expect(try client.ask("publish a 1").hasPrefix(#"{"ok":"publish""#))
        }
        #expect(try client.ask("get $broker.warnings").contains(#""kind":"restart""#))
        broker.stop()
    }

    @Test(
        "a client that doesn't read its replies is not read, and loses none", arguments: PollerKind.allCases
    )
    func backpressure(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let client = try broker.client()
        let value = String(repeating: "v", count: 1_000)
        _ = try client.ask("publish big \"\(value)\"")
        let requests =
            (0..<20_000).map { #"{"op":"get","id":\#($0),"key":"big"}"# }.joined(separator: "\n") + "\n"
        // Reads only when nothing more can be sent, which means that the broker has stopped reading.
        var rest = Array(requests.utf8)[...]
        var id = 0
        while id < 20_000 {
            let sent = client.peer.sendSome(Array(rest.prefix(65_536)))
            rest = rest.dropFirst(sent)
            guard sent == 0 else { continue }
            #expect(number("id", in: try client.line()) == id)
            id += 1
        }
    }

    @Test("stopping waits no more than a second or so for one that doesn't read")
    func stoppingWithSlowReader() throws {
        let broker = try TestBroker()
        let slow = try broker.client()
        let value = String(repeating: "v", count: 900_000)
        _ = try slow.ask("publish k \"\(value)\"")
        try slow.send("get k")
        let start = MonotonicClock.nanoseconds()
        broker.stop()
        #expect(MonotonicClock.nanoseconds() - start < 3_000_000_000)
        #expect(FileStatus(path: broker.path).kind == .missing)
    }
}

@Suite("Subscriptions", .someAtATime, .serialized)
struct SubscriptionTests {
    @Test("a client's subscriptions have a limit")
    func limit() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        let line = #"{"op":"subscribe","key":"k","initial":false}"# + "\n"
        var left = Limits.subscriptionsMax
        while left > 0 {
            let count = min(left, 8_192)
            try client.peer.send(String(repeating: line, count: count))
            for _ in 0..<count { #expect(try client.line().hasPrefix(#"{"ok""#)) }
            left -= count
        }
        #expect(try client.ask(#"{"op":"subscribe","key":"k"}"#).hasPrefix(#"{"error":"limit""#))
        for sub in [300, 77, 5_000] { _ = try client.ask("unsubscribe \(sub)") }
        for sub in [77, 300, 5_000] {
            #expect(
                try client.ask(#"{"op":"subscribe","key":"z","initial":false}"#).contains("\"sub\":\(sub),"))
        }
    }

    @Test("an event larger than the turn's log reaches each of its observers whole")
    func largeEvent() throws {
        let broker = try TestBroker()
        let writer = try broker.client()
        let writerName = "#1"
        let value = "\"\(String(repeating: "v", count: 1_000_000))\""
        let observers = try (0..<80).map { index in
            let client = try broker.client()
            _ = try client.ask(#"{"op":"subscribe","key":"k","sub":"s\#(index)","initial":false}"#)
            return client
        }
        try writer.send("publish k \(value)\npublish k 2")
        for (index, observer) in observers.enumerated() {
            let start = #"{"event":"update","sub":"s\#(index)","key":"k","revision":"#
            #expect(try observer.line() == #"\#(start)1,"value":\#(value),"by":"\#(writerName)"}"#)
            #expect(try observer.line() == #"\#(start)2,"value":2,"by":"\#(writerName)"}"#)
        }
    }
}
