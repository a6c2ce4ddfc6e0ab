import PlugboardWire
import TestSupport
import Testing

@Suite("Subscriptions", .someAtATime, .serialized)
struct SubscriptionTests {
    @Test("many subscriptions are found and freed like few")
    func many() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        try client.send(
            (1...3_000).map { #"{"op":"subscribe","key":"k\#($0)","initial":false}"# }.joined(separator: "\n")
        )
        for sub in 1...3_000 { #expect(number("sub", in: try client.line()) == sub) }
        for sub in [1, 1_500, 3_000, 16, 17] {
            #expect(try client.ask("unsubscribe \(sub)").hasPrefix(#"{"ok""#))
        }
        for sub in [1, 16, 17, 1_500, 3_000] {
            #expect(
                number("sub", in: try client.ask(#"{"op":"subscribe","key":"x","initial":false}"#)) == sub
            )
        }
        #expect(try client.ask(#"{"op":"subscribe","key":"x","initial":false}"#).contains(#""sub":3001,"#))
    }

    @Test("who shares keys and patterns with thousands of others leaves at once, and only he leaves")
    func leaving() throws {
        let broker = try TestBroker()
        let staying = try broker.client()
        let line = #"{"op":"subscribe","keys":["k","k.*","*.k"],"initial":false}"# + "\n"
        func subscribe(_ client: TestClient, _ count: Int) throws {
            try client.send(bytes: Array(String(repeating: line, count: count).utf8))
            for _ in 0..<count { _ = try client.line() }
        }
        do {
            // They take turns, so that the places of each client are mixed with the other's.
            let leaving = try broker.client()
            for _ in 0..<30 {
                try subscribe(leaving, 1_000)
                try subscribe(staying, 10)
            }
        }
        for sub in [1, 300, 150, 77, 299] {
            #expect(try staying.ask("unsubscribe \(sub)") == #"{"ok":"unsubscribe","sub":\#(sub)}"#)
        }
        let writer = try broker.client()
        for key in ["k", "k.a", "a.k", "k.k"] {
            #expect(try writer.ask("emit \(key) 1").hasPrefix(#"{"ok""#))
            var subs = Set<Int>()
            for _ in 0..<295 { subs.insert(number("sub", in: try staying.line()) ?? 0) }
            #expect(subs == Set(1...300).subtracting([1, 300, 150, 77, 299]))
        }
        #expect(try staying.ask("sync").hasPrefix(#"{"ok":"sync""#))
    }

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
        _ = try client.ask("unsubscribe 77")
        #expect(try client.ask(#"{"op":"subscribe","key":"z","initial":false}"#).contains(#""sub":77,"#))
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
