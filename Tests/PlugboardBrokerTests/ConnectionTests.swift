import Foundation
import PlugboardBroker
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@Suite("Connections", .someAtATime, .serialized)
struct ConnectionTests {
    @Test("the greeting names every limit", arguments: PollerKind.allCases)
    func greeting(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let client = try broker.client()
        #expect(client.greeting.hasPrefix(#"{"event":"hello","broker":"plugboard","#))
        for limit in Limits.announced { #expect(number(limit.name, in: client.greeting) == limit.value) }
    }

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

    @Test("a line feed ends a line also where JSON would take it for white space")
    func lineFeedWithinValue() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        let lines = [
            #"{"op":"publish","key":"a","value":1}"#, #"{"op":"publish","key":"a","value":[1,"#, "2]}",
            #"{"op":"publish","key":"a","value":{"x":"#, #"3}}"#,
            #"{"op":"publish","key":"b","value":[4, 5]}"#,
            "{\"op\":\"publish\",\"key\":\"c\",\"value\":6}\r", #"{"op":"publish","key":"d","value":7}"#,
            #"{"op":"sync","id":1}"#,
        ]
        try client.send(bytes: Array(lines.map { $0 + "\n" }.joined().utf8))
        for number in [2, 3, 4, 5] {
            let answer = try client.line()
            #expect(answer.contains(#""error":"bad_json""#) || answer.contains(#""error":"unknown_op""#))
            #expect(answer.contains(#""line":\#(number),"#))
        }
        #expect(try client.line() == #"{"ok":"sync","id":1,"revision":4}"#)
        #expect(try client.ask("get a").contains(#""revision":1,"value":1,"#))
        #expect(try client.ask("get b").contains(#""value":[4, 5]"#))
    }

    @Test("one byte a packet is as good as many lines in one")
    func bytewise() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        for byte in "publish a 1\r\n# nothing\n\nget a\n".utf8 { try client.send(bytes: [byte]) }
        #expect(try client.line() == #"{"ok":"publish","revision":1}"#)
        #expect(try client.line().contains(#""value":1"#))
    }

    @Test(
        "after half a close every complete line is answered, then the broker closes",
        arguments: PollerKind.allCases
    )
    func halfClose(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let client = try broker.client()
        try client.send(bytes: Array("publish a 1\nget a\npublish a 2".utf8))
        client.halfClose()
        #expect(try client.line() == #"{"ok":"publish","revision":1}"#)
        #expect(try client.line().contains(#""value":1"#))
        #expect(try client.line().hasPrefix(#"{"error":"bad_json""#))
        #expect(try client.lineOrEnd() == nil)
        #expect(try broker.client().ask("get a").contains(#""value":1"#))
    }

    @Test("after half a close a subscription goes on until the peer is gone", arguments: PollerKind.allCases)
    func halfCloseWithSubscription(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let (client, writer) = (try broker.client(), try broker.client())
        try client.send("subscribe a")
        client.halfClose()
        for _ in 0..<2 { _ = try client.line() }
        for value in 0..<3 {
            _ = try writer.ask("publish a \(value)")
            #expect(try client.line().contains(#""value":\#(value)"#))
        }
    }

    @Test("after half a close a server can't answer its last call any more, and the caller learns it at once")
    func halfCloseWithCall() throws {
        let broker = try TestBroker()
        let (server, caller) = (try broker.client(), try broker.client())
        _ = try server.ask("serve a")
        try caller.send(#"{"op":"call","key":"a","timeout":600000}"#)
        #expect(try server.line().contains(#""event":"call""#))
        _ = try server.ask("unserve a")
        server.halfClose()
        #expect(try caller.line().hasPrefix(#"{"error":"provider_gone""#))
        #expect(try server.lineOrEnd() == nil)
    }

    @Test("a client that vanishes in the middle of a line leaves no trace of it")
    func vanishing() throws {
        let broker = try TestBroker()
        do {
            let client = try broker.client()
            try client.send(bytes: Array("publish whole 1\npublish half 2".utf8))
        }
        let other = try broker.client()
        try other.send("sync")
        _ = try other.line()
        try eventually { try other.ask("get whole").hasPrefix(#"{"ok""#) }
        #expect(try other.ask("get half").hasPrefix(#"{"error":"not_found""#))
    }

    @Test("what a client sent before it closed is executed, read or not")
    func fireAndForget() throws {
        let broker = try TestBroker()
        do {
            let client = try broker.client()
            let lines = (0..<20_000).map { #"{"op":"publish","id":\#($0),"key":"k","value":\#($0)}"# }
            try client.send(lines.joined(separator: "\n"))
        }
        let other = try broker.client()
        try eventually { try other.ask("get k").contains(#""value":19999"#) }
    }

    @Test("a line at the limit is executed, one past it is left out and answered, and the connection lives")
    func lineLimit() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        func line(_ count: Int) -> String {
            let frame = #"{"op":"publish","key":"k","value":1,"x-a":""#
            return frame + String(repeating: "x", count: count - frame.count - 2) + "\"}"
        }
        try client.send(line(Limits.lineBytesMax) + "\r\nsync")
        #expect(try client.line() == #"{"ok":"sync","revision":1}"#)
        try client.send(line(Limits.lineBytesMax + 1) + "\nsync")
        let refusal = try client.line()
        #expect(refusal.hasPrefix(#"{"error":"too_long","line":3,"#))
        #expect(try client.line() == #"{"ok":"sync","revision":1}"#)
    }

    @Test("lines over the limit again and again end with a reason")
    func overlongAgain() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: Limits.lineBytesMax + 2) + [0x0A]
        for _ in 0..<Limits.overlongLinesMax {
            try client.send(bytes: line)
            #expect(try client.line().hasPrefix(#"{"error":"too_long""#))
        }
        #expect(try client.ask("sync") == #"{"ok":"sync","revision":0}"#)
        for _ in 0..<Limits.overlongLinesMax {
            try client.send(bytes: line)
            _ = try client.line()
        }
        try? client.send(bytes: line)
        #expect(try client.line().hasPrefix(#"{"error":"too_long""#))
        #expect(try client.line().hasPrefix(#"{"event":"bye","reason":"too_long","#))
        #expect(try client.lineOrEnd() == nil)
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
            let sent = client.sendSome(Array(rest.prefix(65_536)))
            rest = rest.dropFirst(sent)
            guard sent == 0 else { continue }
            #expect(number("id", in: try client.line()) == id)
            id += 1
        }
    }

    @Test(
        "an observer that stops reading is told the newest when it reads again, and nobody else notices",
        arguments: PollerKind.allCases
    )
    func slowObserver(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let (slow, quick, writer) = (try broker.client(), try broker.client(), try broker.client())
        for observer in [slow, quick] {
            try observer.send("subscribe k l")
            for _ in 0..<2 { _ = try observer.line() }
        }
        _ = try writer.ask("publish l 1")
        _ = try quick.line()
        let value = String(repeating: "v", count: 100_000)
        let count = 220
        for index in 1...count {
            _ = try writer.ask(#"{"op":"publish","id":1,"key":"k","value":"\#(index)\#(value)"}"#)
            #expect(try quick.line().contains("\"value\":\"\(index)v"))
        }
        _ = try writer.ask("delete l")
        var (told, skipped) = (0, 0)
        try slow.send("sync")
        while true {
            let line = try slow.line()
            if line.hasPrefix(#"{"ok":"sync""#) { break }
            if line.contains(#""key":"k""#) { told += 1 }
            skipped += number("skipped", in: line) ?? 0
            if told + skipped == count { #expect(line.contains("\"\(count)v") || line.contains("delete")) }
        }
        #expect(told + skipped == count)
        #expect(skipped > count / 2)
    }

    @Test("a snapshot larger than the outbox limit arrives whole")
    func largeSnapshot() throws {
        let broker = try TestBroker()
        let (writer, reader) = (try broker.client(), try broker.client())
        let value = String(repeating: "v", count: 1_000)
        let count = Limits.outboxBytesMax / 1_000 + 2_000
        try writer.send(
            (0..<count).map { #"{"op":"publish","key":"k\#($0)","value":"\#(value)"}"# }.joined(
                separator: "\n"
            )
        )
        _ = try writer.ask("sync")
        try reader.send("subscribe **")
        _ = try reader.line()
        _ = try writer.ask("publish k1 1")
        for _ in 0..<count { #expect(try reader.line().hasSuffix(#""initial":true,"live":true}"#)) }
        #expect(try reader.line().hasPrefix(#"{"event":"synced""#))
        #expect(try reader.line().contains(#""key":"k1","revision":\#(count + 1),"#))
    }

    @Test("stopping says so to everyone, removes the socket and returns", arguments: PollerKind.allCases)
    func stopping(poller: PollerKind) throws {
        let broker = try TestBroker(poller: poller)
        let clients = try (0..<5).map { _ in try broker.client() }
        _ = try clients[0].ask("sync")
        broker.stop()
        for client in clients {
            #expect(try client.line().hasPrefix(#"{"event":"bye","reason":"stopping","#))
            #expect(try client.lineOrEnd() == nil)
        }
        #expect(FileStatus(path: broker.path).kind == .missing)
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

    @Test("a second broker on a path is refused and the first notices nothing")
    func secondBroker() throws {
        let broker = try TestBroker()
        let client = try broker.client()
        #expect(throws: BrokerError.alreadyRunning(path: broker.path)) {
            try Broker(configuration: Configuration(socketPath: broker.path))
        }
        #expect(try client.ask("sync") == #"{"ok":"sync","revision":0}"#)
        #expect(try broker.client().ask("sync") == #"{"ok":"sync","revision":0}"#)
    }
}

/// Waits until a condition holds.
func eventually(_ condition: () throws -> Bool) throws {
    let limit = TimeLimit(seconds: HangGuard.seconds)
    while !limit.isOver {
        if try condition() { return }
        sched_yield()
    }
    throw TestFailure(description: "it did not become so")
}
