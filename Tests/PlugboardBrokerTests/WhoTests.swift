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
