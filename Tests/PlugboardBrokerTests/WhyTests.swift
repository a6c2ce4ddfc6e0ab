import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("why a key is as it is", .computing)
struct WhyTests {
    private let test = BareHub()

    /// The keys of a chain with their operations, newest first, and what ends the chain.
    private func chain(_ reply: String?) -> String {
        guard let reply, let start = reply.range(of: #""chain":["#) else { return reply ?? "" }
        let steps = reply[start.upperBound...].split(separator: "{").filter { $0.hasPrefix("\"key\"") }
        let names = steps.map { step in
            let key = step.dropFirst(7).prefix { $0 != "\"" }
            guard let operation = step.range(of: #""op":""#) else { return "\(key)?" }
            return "\(key):\(step[operation.upperBound...].prefix { $0 != "\"" })"
        }
        let end = reply.hasSuffix("]}") ? "" : reply.split(separator: "]").last ?? ""
        return names.joined(separator: " ") + end
    }

    private func why(_ key: String, _ client: SessionHandle, limit: Int? = nil) -> String {
        let limit = limit.map { #","limit":\#($0)"# } ?? ""
        return chain(test.send(#"{"op":"why","key":"\#(key)"\#(limit)}"#, from: client).first)
    }

    @Test("a chain as long as the limit is whole, one longer says that there is more")
    func limit() {
        let client = test.client()
        for number in 0..<101 {
            let cause = number > 0 ? #","cause":\#(number)"# : ""
            test.send(#"{"op":"publish","key":"k\#(number)","value":1\#(cause)}"#, from: client)
        }
        #expect(why("k2", client, limit: 3) == "k2:publish k1:publish k0:publish")
        #expect(why("k3", client, limit: 3) == #"k3:publish k2:publish k1:publish,"more":true}"#)
        #expect(why("k3", client, limit: 1) == #"k3:publish,"more":true}"#)
        #expect(!why("k99", client).contains("more"))
        #expect(why("k100", client).hasSuffix(#"k1:publish,"more":true}"#))
    }

    @Test("what is older than the history is said to be cut off, at its very edge")
    func truncated() {
        let client = test.client()
        test.send("publish root 1", from: client)
        test.send(#"{"op":"publish","key":"effect","value":1,"cause":1}"#, from: client)
        for _ in 2..<History.writesMax { test.send("publish x 1", from: client) }
        test.endTurn()
        #expect(why("effect", client) == "effect:publish root:publish")
        test.send("publish x 1", from: client)
        #expect(why("effect", client) == #"effect:publish,"truncated":true}"#)
        #expect(why("root", client) == #"root?,"truncated":true}"#)
        test.send("publish x 1", from: client)
        #expect(why("effect", client) == #"effect?,"truncated":true}"#)
        #expect(why("x", client) == "x:publish")
    }

    @Test("a key that was deleted long ago has no why any more")
    func forgotten() {
        let client = test.client()
        test.send("publish k 1", from: client)
        test.send("delete k", from: client)
        for _ in 1..<History.writesMax { test.send("publish x 1", from: client) }
        #expect(why("k", client) == "k:delete")
        test.send("publish x 1", from: client)
        #expect(why("k", client).contains("not_found"))
    }

    @Test("a loop of causes does not make the answer endless")
    func loop() {
        let client = test.client()
        for _ in 0..<20_000 {
            test.send(#"{"op":"publish","key":"k","value":1,"cause":\#(test.hub.revision)}"#, from: client)
        }
        let reply = why("k", client, limit: 10_000)
        #expect(reply.hasSuffix(#""more":true}"#))
        #expect(reply.split(separator: " ").count == 10_000)
    }
}

@Suite("who has to do with a key", .someAtATime)
struct WhoTests {
    private func field(_ name: String, _ text: Substring) -> String {
        guard let start = text.range(of: "\"\(name)\":") else { return "" }
        return String(text[start.upperBound...].prefix { $0 != "," && $0 != "}" })
    }

    private func observers(_ reply: String?) -> [Substring] {
        (reply ?? "").split(separator: "{").filter { $0.contains("\"pattern\"") }
    }

    @Test("the process of each observer is told")
    func process() throws {
        let broker = try TestBroker()
        let (observer, asker) = (try broker.client(), try broker.client())
        _ = try observer.ask("subscribe k")
        _ = try observer.line()
        let reply = try asker.ask("who k")
        #expect(number("pid", in: reply) == Int(getpid()))
    }

    @Test("bytes that wait unread are counted")
    func queued() {
        let test = BareHub()
        let (observer, asker) = (test.client(), test.client())
        test.send("subscribe k", from: observer)
        test.take("publish k \"0123456789\"", from: asker)
        test.take("who k", from: asker)
        let told = test.lines(of: observer).joined().utf8.count + 1
        let reply = test.lines(of: asker).last
        #expect(observers(reply).map { field("queued", $0) } == ["\(told)"])
    }

    /// Subscriptions of a key, each by its number.
    private func subscriptions(_ subs: some Sequence<Int>) -> String {
        subs.map { #"{"op":"subscribe","key":"k","sub":\#($0),"initial":false}"# }.joined(separator: "\n")
    }

    @Test(
        "a thousand observers are all named, of more so many",
        arguments: ["who k", "explain delete k", "trace k"]
    )
    func many(request: String) {
        let hub = TestHub()
        let (observer, asker, writer) = (hub.client(), hub.client(), hub.client())
        hub.send("publish k 0", from: writer)
        for (subs, hasMore) in [(1...Limits.listedObserversMax, false), (0...0, true)] {
            hub.send(subscriptions(subs), from: observer)
            _ = hub.read(observer)
            if !request.hasPrefix("trace") || !hasMore { hub.send(request, from: asker) }
            hub.send("publish k 1", from: writer)
            let told = hub.read(asker).last { $0.contains("observers") } ?? ""
            #expect(told.ranges(of: #""client":1,"name""#).count == Limits.listedObserversMax)
            #expect(told.contains(#"],"more":true"#) == hasMore)
        }
    }

    @Test("of more than a thousand observers those that are not up to date come first")
    func late() {
        let hub = TestHub()
        let (observer, slow, asker) = (hub.client(), hub.client(), hub.client())
        hub.send(subscriptions(1...Limits.listedObserversMax), from: observer)
        hub.send(#"{"op":"subscribe","key":"*","sub":"late","initial":false}"#, from: slow)
        _ = hub.read(slow)
        hub.stopReading(slow)
        hub.send("publish k 1", from: asker)
        _ = hub.read(observer)
        let told = hub.ask("who k", from: asker)
        #expect(observers(told).first.map { field("sub", $0) } == "\"late\"")
        #expect(told.contains(#"],"more":true,"writer":"#))
    }
}
