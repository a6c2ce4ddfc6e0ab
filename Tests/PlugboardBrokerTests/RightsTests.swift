// Rights, in a hub with a policy. A key that a client may not see must look exactly like one that doesn't
// exist. So most tests compare it with such a key.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("who may do what", .computing)
struct RightsTests {
    private let hub = TestHub()
    /// A client that may do everything.
    private let owner: Int
    /// A client that may do what `policy` allows to user 7.
    private let guest: Int

    private static let policy = """
        {"rules": [
          {"allow": {"everything": ["**", "$broker.**"]}},
          {"user": 7,
           "allow": {"subscribe": ["open.**", "both.*"], "publish": ["open.**", "blind.*"], "emit": ["bell"],
                     "call": ["ask.*"], "serve": ["open.**"], "control": ["open.**"]},
           "deny": {"subscribe": ["open.secret", "open.$x"], "publish": ["open.fixed"], "serve": ["open.not.*"]}}
        ]}
        """

    init() throws {
        try hub.follow(Self.policy)
        owner = hub.client()
        guest = hub.client(user: 7)
        hub.send("publish open.a 1\npublish open.secret 2\npublish hidden 3\npublish both.x 4", from: owner)
        _ = hub.read(owner)
    }

    @Test("only the broker's own user, root and those whom a rule is about may connect")
    func admission() throws {
        let bare = TestHub()
        #expect(bare.admits(user: TestHub.owner) && bare.admits(user: 0))
        #expect(!bare.admits(user: 7) && !bare.admits(user: .max))
        #expect(hub.admits(user: TestHub.owner) && hub.admits(user: 0) && hub.admits(user: 7))
        #expect(!hub.admits(user: 8) && !hub.admits(user: .max))
        try hub.follow(#"{"rules":[{"group":50,"allow":{}},{"user":9,"group":60,"deny":{}}]}"#)
        #expect(hub.admits(user: 8, groups: [3, 50]) && !hub.admits(user: 8, groups: [60]))
        #expect(hub.admits(user: 9, groups: [60]) && !hub.admits(user: 9))
        try hub.follow(#"{"rules":[{"user":"*","plugin":"cart","allow":{}}]}"#)
        #expect(hub.admits(user: 8) && !hub.admits(user: .max))
    }

    @Test("who was away is told what it missed and may see; from before the policy, all of that anew")
    func resuming() throws {
        hub.send("publish open.a 10\npublish hidden 10\ndelete open.secret\ndelete hidden", from: owner)
        let since = #"{"op":"subscribe","key":"**","epoch":"\#(hub.epoch)","since":"#
        hub.send(since + "4}", from: guest)
        let missed = hub.read(guest)
        #expect(missed.contains { $0.contains(#""resumed":true"#) })
        #expect(missed.filter { $0.contains(#""key":"#) }.count == 1)
        #expect(!missed.contains { $0.contains("hidden") || $0.contains("secret") })
        try hub.follow(Self.policy.replacing("both.*", with: "bot.*"))
        hub.send(since + "7}", from: guest)
        let anew = hub.read(guest)
        #expect(anew.contains { $0.contains(#""resumed":false"#) })
        #expect(anew.filter { $0.contains(#""key":"#) }.count == 1)
        #expect(!anew.contains { $0.contains("hidden") || $0.contains("secret") })
    }

    @Test(
        "what is no key or no pattern is told as everywhere", arguments: ["open..a", "open.", ".open", "."])
    func malformed(text: String) {
        for line in ["get", "who", "why", "delete", "call", "serve", "subscribe", "trace", "keys"] {
            #expect(hub.code("\(line) \(text)", from: guest).hasPrefix("bad_"), "\(line) \(text)")
        }
        for write in ["publish \(text) 1", "emit \(text) 1", "patch \(text) {}", "delete \(text)"] {
            #expect(hub.ask("explain \(write)", from: guest).contains(#""refused":{"error":"bad_key""#))
            #expect(hub.code("will \(write)", from: guest) == "bad_key")
        }
    }

    @Test("a pattern of which nothing may be seen is forbidden; of others the rest is left out")
    func patterns() {
        for line in [
            "subscribe hidden", "subscribe hidden.**", "subscribe open.secret", "trace hidden",
            "subscribe $broker.**",
        ] {
            #expect(hub.code(line, from: guest) == "forbidden", "\(line)")
        }
        for line in ["subscribe *.secret", "subscribe open.*", "subscribe **", "trace *"] {
            #expect(hub.code(line, from: guest) == "ok", "\(line)")
        }
    }

    @Test("writes are made where they are allowed, and what depends on the value needs to see it")
    func writes() {
        let cases = [
            ("publish open.a 1", "ok"), ("publish open.fixed 1", "forbidden"),
            ("publish hidden 1", "forbidden"),
            ("publish blind.a 1", "ok"), ("patch blind.a {}", "forbidden"), ("delete blind.a", "forbidden"),
            ("delete blind.b", "forbidden"), ("patch open.a {}", "ok"), ("add blind.a 1", "forbidden"),
            ("add open.sum 1", "ok"), ("add open.fixed 1", "forbidden"), ("add hidden 1", "forbidden"),
            ("delete open.a", "ok"),
            ("emit bell 1", "ok"), ("emit open.a 1", "forbidden"), ("publish bell 1", "forbidden"),
            (#"{"op":"publish","id":1,"key":"blind.a","value":1,"if":7}"#, "forbidden"),
            (#"{"op":"publish","id":1,"key":"open.c","value":1,"if":0}"#, "ok"),
            (
                #"{"op":"batch","id":1,"writes":[{"op":"publish","key":"open.c","value":2},"#
                    + #"{"op":"emit","key":"open.c","value":1}]}"#, "forbidden"
            ),
            ("will publish hidden 1", "forbidden"), ("will emit bell 1", "ok"),
            ("publish $broker.x 1", "forbidden"),
            ("publish a..b 1", "bad_key"), ("get a..b", "bad_key"),
        ]
        for (line, expected) in cases { #expect(hub.code(line, from: guest) == expected, "\(line)") }
        #expect(hub.ask("get open.c", from: guest).contains(#""value":1"#))
        #expect(hub.ask("get hidden", from: owner).contains(#""value":3"#))
    }

    @Test("calls and services: a pattern is served only where all of it is allowed")
    func calls() {
        #expect(hub.code("call hidden", from: guest) == "forbidden")
        #expect(hub.code("call ask.x", from: guest) == "no_provider")
        for (pattern, expected) in [
            ("open.a", "ok"), ("open.**", "forbidden"), ("open.b.*", "ok"), ("open.*.*", "forbidden"),
            ("open.not.x", "forbidden"), ("hidden", "forbidden"), ("**", "forbidden"),
        ] {
            let line = #"{"op":"serve","id":1,"key":"\#(pattern)"}"#
            #expect(hub.code(line, from: guest) == expected, "\(pattern)")
        }
    }

    @Test("another client's subscription is held where all of it is allowed; else it isn't there")
    func control() {
        hub.send(#"{"op":"subscribe","sub":1,"key":"open.*","initial":false}"#, from: owner)
        hub.send(#"{"op":"subscribe","sub":2,"key":"**","initial":false}"#, from: owner)
        hub.send(#"{"op":"subscribe","sub":3,"keys":["open.a","hidden"],"initial":false}"#, from: owner)
        hub.send(#"{"op":"trace","sub":4,"key":"hidden"}"#, from: owner)
        hub.send(#"{"op":"trace","sub":5,"key":"open.**"}"#, from: owner)
        func pause(_ sub: Int, client: Int) -> String {
            hub.ask(#"{"op":"pause","id":1,"sub":\#(sub),"client":\#(client)}"#, from: guest)
        }
        for sub in [1, 5] { #expect(pause(sub, client: 1).hasPrefix(#"{"ok":"pause""#)) }
        let missing = pause(9, client: 1)
        #expect(missing.hasPrefix(#"{"error":"not_found""#))
        for sub in [2, 3, 4] { #expect(pause(sub, client: 1) == missing, "\(sub)") }
        #expect(pause(1, client: 77).replacing("77", with: "1") == missing)
        hub.send("subscribe **", from: guest)
        _ = hub.read(guest)
        #expect(hub.code("pause 1", from: guest) == "ok")
    }

    @Test("root has the rights of the broker's own user")
    func root() {
        let root = hub.client(user: 0)
        #expect(hub.code("publish hidden 1", from: root) == "ok")
    }

    @Test("emits to keys that nobody may be told of leave nothing behind")
    func emits() {
        hub.send("subscribe hidden.*", from: owner)
        hub.send("subscribe *", from: guest)
        let before = hub.observableCount
        for index in 0..<100 { hub.send("emit secret\(index) 1", from: owner) }
        #expect(hub.observableCount == before)
    }
}
