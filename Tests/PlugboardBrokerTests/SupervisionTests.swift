// Plugins of a supervisor: their names belong to them alone, and they may do what the supervisor lists for
// them.

import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("plugins of a supervisor", .computing)
struct SupervisionTests {
    private let hub = TestHub()
    private let up: Int
    /// A client that is no plugin.
    private let other: Int

    init() {
        hub.obey(supervisor: 7)
        up = hub.client(process: 7)
        other = hub.client()
    }

    @discardableResult
    private func tell(_ value: String, of name: String = "cart", from client: Int? = nil) -> String {
        let line =
            #"{"op":"publish","id":1,"key":"$broker.plugins.\#(name)","value":\#(value),"#
            + #""while":"connected"}"#
        return hub.code(line, from: client ?? up)
    }

    private static let cart =
        #"{"name":"cart","state":"running","pid":1200,"may":{"subscribe":["shop.*"],"#
        + #""publish":["shop.cart","blind"],"call":["ask"],"serve":["shop.**"]}}"#

    @Test("its clients have its name from the greeting on, and whatever it has started does")
    func names() {
        tell(Self.cart)
        for process: Int32 in [1200, 1234] {
            let client = hub.client(process: process)
            #expect(hub.greeting.contains(#","name":"cart","limits""#))
            #expect(hub.code("hello cart", from: client) == "ok")
            #expect(hub.code("hello till", from: client) == "forbidden")
            hub.send("publish shop.cart 1", from: client)
            #expect(hub.ask("get shop.cart", from: client).contains(#""by":"cart""#))
        }
        _ = hub.client(process: 1300)
        #expect(!hub.greeting.contains(#""name":""#))
    }

    @Test("those of a process that has ended are left behind by it, and no others")
    func orphans() {
        tell(Self.cart)
        let leader = hub.client(process: 1200)
        _ = hub.client(process: 1234)
        _ = hub.client(process: 1300)
        #expect(hub.orphans == [])
        tell(#"{"name":"cart","state":"running","pid":1200}"#)
        #expect(hub.orphans == [])
        tell(#"{"name":"cart","state":"waiting"}"#)
        #expect(hub.orphans == [leader])
        tell(#"{"name":"cart","state":"running","pid":1300}"#)
        tell(#"{"name":"cart","state":"stopped"}"#)
        #expect(hub.orphans.count == 2)
    }

    @Test("nobody else takes a plugin's name, or the supervisor's")
    func taken() {
        #expect(hub.code("hello up", from: up) == "ok")
        #expect(hub.code("hello cart", from: other) == "ok")
        tell(Self.cart)
        // The client that had the name before has lost it.
        hub.send("publish a 1", from: other)
        #expect(hub.ask("get a", from: other).contains(##""by":"#2""##))
        for name in ["cart", "up"] { #expect(hub.code("hello \(name)", from: other) == "forbidden") }
        #expect(hub.code("hello ada", from: other) == "ok")
        #expect(hub.code("hello cart", from: hub.client(user: 0)) == "forbidden")
    }

    @Test("what isn't listed is forbidden, or isn't there")
    func limits() {
        tell(Self.cart)
        hub.send("publish secret 1\npublish shop.price 5", from: other)
        let cart = hub.client(process: 1200)
        let cases = [
            ("publish shop.cart 1", "ok"), ("publish shop.price 1", "forbidden"),
            ("emit shop.cart 1", "forbidden"), ("publish blind 1", "ok"), ("delete blind", "forbidden"),
            ("get shop.price", "ok"), ("get secret", "not_found"), ("why secret", "not_found"),
            ("subscribe secret", "forbidden"), ("subscribe shop.*", "ok"), ("call ask", "no_provider"),
            ("call secret", "forbidden"), ("serve shop.x.*", "ok"), ("serve **", "forbidden"),
            ("subscribe $broker.stats", "forbidden"), ("publish $broker.plugins.cart 1", "forbidden"),
        ]
        for (line, expected) in cases { #expect(hub.code(line, from: cart) == expected, "\(line)") }
        #expect(hub.ask("keys **", from: cart).contains("shop.price"))
        #expect(!hub.ask("keys **", from: cart).contains("secret"))
        let refusal = hub.ask("publish shop.price 1", from: cart)
        #expect(refusal.contains("the plugin.json of this plugin does not let this client publish"))
        #expect(refusal.contains(#"its \"publishes\" lists what is allowed"#))
        #expect(hub.code("pause 1", from: cart) == "ok")
        hub.send(#"{"op":"subscribe","sub":9,"key":"**","initial":false}"#, from: other)
        #expect(hub.code(#"{"op":"pause","id":1,"client":2,"sub":9}"#, from: cart) == "not_found")
    }

    @Test("how it is, it may always tell, and nothing beside that", arguments: ["cart", "till 3/é", "%"])
    func health(name: String) {
        tell(#"{"name":"\#(name)","state":"running","pid":1200,"may":{}}"#)
        let plugin = hub.client(process: 1200)
        let key = HealthReport.key(of: name)
        let value = #"{"state":"well"}"#
        let report = #"{"op":"publish","id":1,"key":"\#(key)","value":\#(value),"while":"connected"}"#
        #expect(hub.code(report, from: plugin) == "ok")
        #expect(hub.ask("get \(key)", from: other).contains(#""by":"\#(name)""#))
        for line in [
            "publish \(key).x 1", "publish other.health 1", "emit \(key) 1", "delete \(key)",
            "subscribe \(key)",
            "publish health 1",
        ] { #expect(hub.code(line, from: plugin) == "forbidden", "\(line)") }
        // Who looks at it doesn't want the plugin for that.
        #expect(hub.code("subscribe *.health", from: other) == "ok")
    }

    @Test("a name is one token of a key, and different names are different tokens")
    func tokens() {
        let names = ["cart", "till 3", "till%203", "é", "a.b", "a_b-c", "$", "*", "A", "a\\"]
        let keys = names.map(HealthReport.key)
        #expect(
            keys.prefix(5) == [
                "cart.health", "till%203.health", "till%25203.health", "%C3%A9.health", "a%2Eb.health",
            ]
        )
        #expect(Set(keys).count == names.count)
        #expect(keys.map(HealthReport.name) == names)
        for token in ["%", "%4", "%41", "%2e", "%zz", "%+1", "%FF", "é"] {
            #expect(HealthReport.name(in: "\(token).health") == token)
        }
        for key in keys {
            #expect(Key.fault(Array(key.utf8).span) == nil && !Key.isReserved(Array(key.utf8).span))
        }
        let longest = String(repeating: " ", count: Limits.nameBytesMax)
        #expect(Key.fault(Array(HealthReport.key(of: longest).utf8).span) == nil)
    }

    @Test("a policy counts as well: both have to allow it")
    func policy() throws {
        try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"plugin":"cart","deny":{"publish":["blind"]}}]}"#
        )
        // The supervisor connected before, and no policy concerns it.
        let up = hub.client(process: 7)
        #expect(tell(Self.cart, from: up) == "ok")
        let cart = hub.client(process: 1200)
        #expect(hub.code("publish shop.cart 1", from: cart) == "ok")
        #expect(hub.code("publish blind 1", from: cart) == "forbidden")
        #expect(hub.code("publish secret 1", from: cart) == "forbidden")
        #expect(hub.ask("publish blind 1", from: cart).contains("the policy does not let"))
    }

    @Test("who was a client before it was told of becomes the plugin's, with its name and its limits")
    func late() {
        let cart = hub.client(process: 1234)
        hub.send("hello early\nsubscribe **\nserve secret", from: cart)
        _ = hub.read(cart)
        tell(Self.cart)
        hub.send("publish secret 1", from: other)
        _ = hub.read(other)
        #expect(hub.read(cart).isEmpty)
        #expect(hub.code("call secret", from: other) == "no_provider")
        #expect(hub.code("publish secret 1", from: cart) == "forbidden")
        #expect(hub.code("hello early", from: cart) == "forbidden")
        hub.send("publish shop.cart 1", from: cart)
        #expect(hub.ask("get shop.cart", from: other).contains(#""by":"cart""#))
    }

    @Test("another declaration holds at once: observers, services, and what was not read")
    func declaredAnew() {
        tell(Self.cart)
        let (cart, idle) = (hub.client(process: 1200), hub.client(process: 1200))
        for client in [cart, idle] {
            hub.send("subscribe **", from: client)
            _ = hub.read(client)
        }
        hub.send("serve shop.x", from: cart)
        hub.send("publish shop.a 1", from: other)
        #expect(hub.read(cart).count == 2 && hub.read(idle).count == 1)
        tell(Self.cart.replacing(#""shop.**""#, with: #""shop.y""#).replacing("shop.*", with: "till.*"))
        hub.send("publish shop.a 2\npublish till.a 1", from: other)
        #expect(hub.read(cart).filter { $0.contains("till.a") }.count == 1)
        _ = hub.read(other)
        #expect(hub.code("call shop.x", from: other) == "no_provider")
        hub.stopReading(idle)
        hub.send("publish till.a 2", from: other)
        _ = hub.read(cart)
        tell(Self.cart)
        #expect(hub.isOpen(cart) && !hub.isOpen(idle))
        hub.send("publish shop.a 3\npublish till.a 3", from: other)
        #expect(hub.read(cart).filter { $0.contains("shop.a") }.count == 1)
    }

    @Test("without a process the name is still its own; the next process takes it over")
    func ended() {
        tell(Self.cart)
        tell(#"{"name":"cart","state":"waiting"}"#)
        #expect(hub.code("hello cart", from: other) == "forbidden")
        _ = hub.client(process: 1200)
        #expect(!hub.greeting.contains(#""name":""#))
        tell(Self.cart.replacing("1200", with: "1500"))
        let next = hub.client(process: 1500)
        #expect(hub.greeting.contains(#""name":"cart""#))
        #expect(hub.code("publish secret 1", from: next) == "forbidden")
    }

    @Test("without \"may\" nothing is limited")
    func unlimited() {
        tell(#"{"name":"demo","pid":1200}"#, of: "demo")
        let demo = hub.client(process: 1200)
        #expect(hub.greeting.contains(#""name":"demo""#))
        #expect(hub.code("publish anything 1", from: demo) == "ok")
    }

    @Test("when the supervisor leaves, names and limits stay, and the keys go")
    func left() {
        tell(Self.cart)
        hub.send("subscribe $broker.plugins.*", from: other)
        #expect(hub.read(other).contains { $0.contains(#""pid":1200"#) })
        hub.leave(up)
        let gone = hub.read(other).filter { $0.contains(#"{"event":"delete""#) }
        #expect(gone.contains { $0.contains("plugins.cart") })
        #expect(hub.code("hello cart", from: other) == "forbidden")
        let cart = hub.client(process: 1200)
        #expect(hub.code("publish secret 1", from: cart) == "forbidden")
    }

    @Test("only the supervisor says so, only of plugins, and only what can be understood")
    func refused() {
        #expect(tell(Self.cart, from: other) == "forbidden")
        let cases = [
            ("7", "wrong_type"), ("{}", "wrong_type"), (#"{"name":"$x"}"#, "wrong_type"),
            (#"{"name":"a","pid":"x"}"#, "wrong_type"), (#"{"name":"a","pid":0}"#, "wrong_type"),
            (#"{"name":"a","may":7}"#, "wrong_type"), (#"{"name":"a","may":{"publsh":[]}}"#, "wrong_type"),
            (#"{"name":"a","may":{"publish":["a..b"]}}"#, "wrong_type"), (#"{"name":"a"}"#, "ok"),
        ]
        for (value, expected) in cases { #expect(tell(value) == expected, "\(value)") }
        #expect(hub.code("publish $broker.plugins.a {}", from: up) == "forbidden")
        #expect(hub.code("publish $broker.stats 1", from: up) == "forbidden")
        #expect(hub.code("emit $broker.plugins.a 1", from: up) == "forbidden")
        #expect(hub.code("publish anything 1", from: up) == "ok")
    }

    @Test("1,024 plugins have their place, however many there have been, and one more is refused")
    func many() {
        for number in 0...Supervision.pluginsMax {
            #expect(tell(#"{"name":"p\#(number)"}"#, of: "p\(number)") == "ok")
            if number == 0 { #expect(hub.code("delete $broker.plugins.p0", from: up) == "ok") }
        }
        #expect(tell(#"{"name":"more"}"#, of: "more") == "limit")
        #expect(tell(#"{"name":"p1"}"#, of: "p1") == "ok")
    }

    @Test("16 MiB of calls wait for plugins, and one more is refused")
    func waitingCalls() {
        tell(#"{"name":"lamp","state":"idle","start":"demand","may":{"serve":["lamp.set"]}}"#, of: "lamp")
        let value = "\"" + String(repeating: "x", count: 1_000_000) + "\""
        let call = #"{"op":"call","id":1,"key":"lamp.set","timeout":60000,"value":\#(value)}"#
        for _ in 0..<16 { hub.send(call, from: other) }
        #expect(hub.read(other).isEmpty)
        #expect(hub.code(call, from: other) == "limit")
    }

    @Test("a broker without a supervisor knows of no plugins")
    func alone() {
        let hub = TestHub()
        let client = hub.client(process: 7)
        let line =
            #"{"op":"publish","id":1,"key":"$broker.plugins.a","value":{"name":"a"},"#
            + #""while":"connected"}"#
        hub.send(line, from: client)
        #expect(hub.read(client).first?.hasPrefix(#"{"error":"forbidden""#) == true)
    }
}
