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

    @Test("an observer that stopped reading lags, with what it is owed and up to where it was told")
    func lagging() {
        let test = TestHub()
        let (observer, writer) = (test.client(), test.client())
        test.send("subscribe **", from: observer)
        test.send("publish a 1", from: writer)
        _ = test.read(observer)
        test.send("who a", from: writer)
        let live = observers(test.read(writer).last).first ?? ""
        #expect(field("state", live) == "\"live\"")
        #expect(field("revision", live) == "1")
        test.stopReading(observer)
        test.send("publish a 2\npublish b 1\npublish a 3", from: writer)
        test.send("who a", from: writer)
        let lagging = observers(test.read(writer).last).first ?? ""
        #expect(field("state", lagging) == "\"lagging\"")
        #expect(field("owed", lagging) == "2")
        // Its next event is b, with revision 3. It misses nothing before that, except what is folded.
        #expect(field("revision", lagging) == "2")
        _ = test.read(observer)
        test.send("who a", from: writer)
        let again = observers(test.read(writer).last).first ?? ""
        #expect(field("state", again) == "\"live\"")
        #expect(field("owed", again) == "0")
        #expect(field("revision", again) == "4")
    }

    @Test("lines that wait are owed as well as keys, and pause, step and resume count as who does")
    func owed() {
        let test = TestHub()
        let (observer, asker) = (test.client(), test.client())
        test.send(#"{"op":"subscribe","key":"*","every":1000,"delivery":"all"}"#, from: observer)
        test.send(#"{"op":"subscribe","key":"*","where":{"":{"<":10}}}"#, from: observer)
        test.send("publish a 1", from: asker)
        test.send("pause 2", from: observer)
        test.send("publish a 2\npublish a 3\nemit a 4\npublish a 20\npublish b 1\npublish b 20", from: asker)
        _ = test.read(observer)
        test.send("who a", from: asker)
        let told = observers(test.read(asker).last)
        #expect(told.map { field("owed", $0) } == ["6", "3"])
        #expect(told.map { field("state", $0) } == ["\"lagging\"", "\"paused\""])
        test.send("resume 2", from: observer)
        let lines = test.read(observer)
        #expect(lines.first == #"{"ok":"resume","sub":2,"owed":3}"#)
        // b came and went, so there is nothing to tell about it.
        #expect(lines.count == 1 + 2)
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

    @Test("a thousand observers are all named, of more those that are not up to date come first")
    func many() {
        let test = TestHub()
        let (observer, slow, asker) = (test.client(), test.client(), test.client())
        let requests = (0..<Limits.listedObserversMax).map { number in
            #"{"op":"subscribe","key":"k","sub":\#(number),"initial":false}"#
        }
        test.send(requests.joined(separator: "\n"), from: observer)
        _ = test.read(observer)
        test.send("who k", from: asker)
        let whole = test.read(asker).last ?? ""
        #expect(observers(whole).count == Limits.listedObserversMax)
        #expect(!whole.contains("more"))
        test.send(#"{"op":"subscribe","key":"*","sub":"late","initial":false}"#, from: slow)
        _ = test.read(slow)
        test.stopReading(slow)
        test.send("publish k 1", from: asker)
        _ = test.read(observer)
        test.send("who k", from: asker)
        let cut = test.read(asker).last ?? ""
        #expect(observers(cut).count == Limits.listedObserversMax)
        #expect(observers(cut).first.map { field("sub", $0) } == "\"late\"")
        #expect(cut.contains(#"],"more":true,"writer":"#))
    }
}
