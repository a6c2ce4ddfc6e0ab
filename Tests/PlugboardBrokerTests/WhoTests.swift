import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

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
