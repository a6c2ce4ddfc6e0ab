import PlugboardPosix
import TestSupport
import Testing

@Suite("What is promised about order", .someAtATime, .serialized)
struct OrderTests {
    @Test("replies come in the order of the requests", arguments: PollerKind.allCases)
    func replies(poller: PollerKind) throws {
        let client = try TestBroker(poller: poller).kept { try $0.client() }
        let lines = (0..<5_000).map { #"{"op":"publish","id":\#($0),"key":"k\#($0 % 7)","value":\#($0)}"# }
        try client.0.send(lines.joined(separator: "\n"))
        for id in 0..<5_000 { #expect(number("id", in: try client.0.line()) == id) }
    }

    @Test("the subscription's reply, its snapshot, synced and live events meet without gap or repeat")
    func snapshot() throws {
        let broker = try TestBroker()
        let (writer, reader) = (try broker.client(), try broker.client())
        try writer.send((0..<100).map { "publish a.k\($0) \($0)" }.joined(separator: "\n"))
        for _ in 0..<100 { _ = try writer.line() }
        try writer.send((0..<2_000).map { "publish a.k\($0 % 100) \($0)" }.joined(separator: "\n"))
        try reader.send("subscribe a.**")
        let reply = try reader.line()
        #expect(reply.hasPrefix(#"{"ok":"subscribe""#))
        let revision = try #require(number("revision", in: reply))
        var last = 0
        for _ in 0..<100 {
            let line = try reader.line()
            #expect(line.hasSuffix(#""initial":true,"live":true}"#))
            let own = try #require(number("revision", in: line))
            #expect(own > last && own <= revision)
            last = own
        }
        #expect(try reader.line() == #"{"event":"synced","sub":1,"revision":\#(revision)}"#)
        for next in (revision + 1)..<(2_101) { #expect(number("revision", in: try reader.line()) == next) }
    }

    @Test("per subscription events come in revision order, whatever several writers do")
    func revisions() throws {
        let broker = try TestBroker()
        let reader = try broker.client()
        try reader.send("subscribe **")
        for _ in 0..<2 { _ = try reader.line() }
        let writers = try (0..<4).map { _ in try broker.client() }
        for (index, writer) in writers.enumerated() {
            try writer.send(
                (0..<500).map { #"{"op":"publish","key":"k\#(index)","value":\#($0)}"# }.joined(
                    separator: "\n"
                )
            )
        }
        for revision in 1...2_000 { #expect(number("revision", in: try reader.line()) == revision) }
    }
}

extension TestBroker {
    /// Makes something with the broker. Returns it with the broker, so that the broker stays alive.
    func kept<Made>(_ make: (TestBroker) throws -> Made) rethrows -> (Made, TestBroker) {
        (try make(self), self)
    }
}
