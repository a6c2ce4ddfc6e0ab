import PlugboardWire
import TestSupport
import Testing

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
            try client.send(bytes: Array(String(repeating: line, count: count).utf8))
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
