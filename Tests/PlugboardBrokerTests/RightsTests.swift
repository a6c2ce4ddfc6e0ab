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

    private func ask(_ line: String, from client: Int) -> String {
        hub.send(line, from: client)
        return hub.read(client).joined(separator: "\n")
    }

    /// Whether two requests get replies that differ only in the key.
    private func isSame(_ line: String, _ key: String, _ other: String) -> Bool {
        func reply(_ key: String) -> String {
            let id = #"{"op":\#(line),"id":1,"key":"\#(key)"}"#
            return ask(id, from: guest).replacing(key, with: "KEY")
        }
        return reply(key) == reply(other)
    }

    private func code(_ reply: String) -> String {
        reply.hasPrefix(#"{"error":""#) ? String(reply.dropFirst(10).prefix { $0 != "\"" }) : "ok"
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

    @Test("a subscription is told the keys that may be seen, at first and later, and no others")
    func deliveries() {
        hub.send("subscribe **", from: guest)
        let first = hub.read(guest)
        #expect(first.filter { $0.contains("open.a") }.count == 1)
        #expect(first.filter { $0.contains("both.x") }.count == 1)
        #expect(first.count == 4)
        hub.send("publish open.secret 1\npublish hidden 1\nemit open.secret 1", from: owner)
        hub.send("delete hidden\nemit x 1", from: owner)
        #expect(hub.read(guest).isEmpty)
        let writes = ["open.b", "hidden"].map { #"{"op":"publish","key":"\#($0)","value":1}"# }
        hub.send(#"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#, from: owner)
        let lines = hub.read(guest)
        #expect(lines.count == 1 && lines[0].contains("open.b"))
    }

    @Test("the same of a client that is behind, paused, throttled, in phases or told everything")
    func otherWays() {
        for options in [
            #""every":1000"#, #""delivery":"all""#, #""phase":7"#, #""ack":true,"phase":1"#,
            #""where":{"":{">":0}}"#, #""old":true"#,
        ] {
            hub.send(#"{"op":"subscribe","sub":"s","keys":["**","open.*"],\#(options)}"#, from: guest)
            _ = hub.read(guest)
            hub.send(#"{"op":"pause","sub":"s"}"#, from: guest)
            hub.send("publish hidden 5\npublish open.secret 5\nemit hidden 5", from: owner)
            hub.send("publish open.a 5\nemit open.a 5", from: owner)
            hub.send(#"{"op":"resume","sub":"s"}"#, from: guest)
            hub.expireAll(after: 5_000)
            let told = hub.read(guest)
            #expect(told.contains { $0.contains("open.a") }, "\(options)")
            #expect(!told.contains { $0.contains("hidden") || $0.contains("secret") }, "\(options)")
            hub.send(#"{"op":"unsubscribe","sub":"s"}"#, from: guest)
            _ = hub.read(guest)
        }
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

    @Test("nothing of a hidden key shows in get, why, who and keys")
    func questions() {
        #expect(isSame(#""get""#, "hidden", "nobody"))
        let reply = ask(#"{"op":"get","id":1,"key":"open.secret"}"#, from: guest)
        #expect(code(reply) == "not_found")
        hub.send("delete open.secret", from: owner)
        #expect(ask(#"{"op":"get","id":1,"key":"open.secret"}"#, from: guest) == reply)
        #expect(isSame(#""why""#, "hidden", "nobody"))
        hub.send("subscribe hidden", from: owner)
        hub.send(#"{"op":"serve","id":1,"key":"hidden"}"#, from: owner)
        _ = hub.read(owner)
        #expect(isSame(#""who""#, "hidden", "nobody"))
        #expect(ask("keys", from: guest).contains(#""keys":[{"key":"both.x","#))
        let keys = ask("keys **", from: guest)
        #expect(!keys.contains("hidden") && !keys.contains("secret") && keys.hasSuffix(#""more":false}"#))
        #expect(ask(#"{"op":"keys","key":"**","limit":2}"#, from: guest).hasSuffix(#""more":false}"#))
        #expect(ask(#"{"op":"keys","key":"$broker.**"}"#, from: guest).contains(#""keys":[]"#))
        #expect(code(ask("get $broker.stats", from: guest)) == "not_found")
        #expect(code(ask("get $broker.stats", from: owner)) == "ok")
    }

    @Test("hints name no key that may not be seen")
    func hints() {
        #expect(!ask("get open.secreT", from: guest).contains("open.secret"))
        hub.send("publish open.price 1", from: owner)
        #expect(ask("get open.prize", from: guest).contains("open.price"))
        #expect(!ask("delete open.secreT", from: guest).contains("open.secret\""))
        #expect(!ask("why open.secreT", from: guest).contains("open.secret\""))
    }

    @Test("who names only observers that may see the key, to those who may")
    func who() {
        hub.send("subscribe **", from: guest)
        _ = hub.read(guest)
        #expect(ask("who open.a", from: owner).contains(#""client":2"#))
        #expect(!ask("who hidden", from: owner).contains(#""client":2"#))
        #expect(ask("who open.a", from: guest).contains("writer"))
    }

    @Test("a chain of causes ends before a write that may not be seen, as if it were forgotten")
    func chains() {
        hub.send(#"{"op":"publish","key":"hidden","value":1}"#, from: owner)
        hub.send(#"{"op":"publish","key":"open.effect","value":1,"cause":5}"#, from: owner)
        let chain = ask("why open.effect", from: guest)
        #expect(chain.contains("open.effect") && !chain.contains("hidden"))
        #expect(chain.hasSuffix(#""truncated":true}"#))
        let first = ask(#"{"op":"why","key":"open.effect","limit":1}"#, from: guest)
        #expect(first.hasSuffix(#""truncated":true}"#))
        #expect(ask("why open.effect", from: owner).contains("hidden"))
    }

    @Test("who called is not shown where the called key may not be seen")
    func calledKeys() {
        hub.send("serve hidden\nserve open.a", from: owner)
        hub.send("call hidden", from: owner)
        let revision = hub.revision
        hub.send(#"{"op":"publish","key":"open.effect","value":1,"cause":\#(revision)}"#, from: owner)
        let chain = ask("why open.effect", from: guest)
        #expect(!chain.contains("hidden") && chain.hasSuffix(#""truncated":true}"#))
        #expect(ask("why hidden", from: guest).contains("not_found"))
        #expect(
            ask("why open.effect", from: owner).contains(
                #""key":"hidden","revision":\#(revision),"op":"call""#
            )
        )
        hub.send("call open.a", from: owner)
        let next = hub.revision
        hub.send(#"{"op":"publish","key":"open.effect","value":2,"cause":\#(next)}"#, from: owner)
        #expect(
            ask("why open.effect", from: guest).contains(#""key":"open.a","revision":\#(next),"op":"call""#)
        )
    }

    @Test("a trace tells of writes that may be seen")
    func traces() {
        hub.send("trace **", from: guest)
        _ = hub.read(guest)
        hub.send("publish hidden 1\npublish open.secret 1\npublish open.a 9", from: owner)
        let lines = hub.read(guest)
        #expect(lines.count == 1 && lines[0].contains(#""key":"open.a""#))
    }

    @Test("explain refuses as the write would be, and names no observers of a hidden key")
    func explain() {
        hub.send("subscribe **", from: owner)
        _ = hub.read(owner)
        #expect(ask("explain publish hidden 1", from: guest).contains(#""refused":{"error":"forbidden""#))
        #expect(ask("explain patch blind.a {}", from: guest).contains(#""refused":{"error":"forbidden""#))
        let blind = ask("explain publish blind.a 1", from: guest)
        #expect(blind.contains(#""observers":[]}"#))
        #expect(ask("explain publish open.a 1", from: guest).contains(#""client":1"#))
    }

    @Test(
        "what is no key or no pattern is told as everywhere", arguments: ["open..a", "open.", ".open", "."])
    func malformed(text: String) {
        for line in ["get", "who", "why", "delete", "call", "serve", "subscribe", "trace", "keys"] {
            #expect(code(ask("\(line) \(text)", from: guest)).hasPrefix("bad_"), "\(line) \(text)")
        }
        for write in ["publish \(text) 1", "emit \(text) 1", "patch \(text) {}", "delete \(text)"] {
            #expect(ask("explain \(write)", from: guest).contains(#""refused":{"error":"bad_key""#))
            #expect(code(ask("will \(write)", from: guest)) == "bad_key")
        }
    }

    @Test("a pattern of which nothing may be seen is forbidden; of others the rest is left out")
    func patterns() {
        for line in [
            "subscribe hidden", "subscribe hidden.**", "subscribe open.secret", "trace hidden",
            "subscribe $broker.**",
        ] {
            #expect(code(ask(line, from: guest)) == "forbidden", "\(line)")
        }
        for line in ["subscribe *.secret", "subscribe open.*", "subscribe **", "trace *"] {
            #expect(code(ask(line, from: guest)) == "ok", "\(line)")
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
        for (line, expected) in cases { #expect(code(ask(line, from: guest)) == expected, "\(line)") }
        #expect(ask("get open.c", from: guest).contains(#""value":1"#))
        #expect(ask("get hidden", from: owner).contains(#""value":3"#))
    }

    @Test("a right of a will is looked at when it is made")
    func wills() throws {
        hub.send("will publish open.will 1", from: guest)
        try hub.follow(Self.policy.replacing(#""open.**", "blind.*""#, with: #""blind.*""#))
        hub.leave(guest)
        #expect(code(ask("get open.will", from: owner)) == "not_found")
    }

    @Test("calls and services: a pattern is served only where all of it is allowed")
    func calls() {
        #expect(code(ask("call hidden", from: guest)) == "forbidden")
        #expect(code(ask("call ask.x", from: guest)) == "no_provider")
        for (pattern, expected) in [
            ("open.a", "ok"), ("open.**", "forbidden"), ("open.b.*", "ok"), ("open.*.*", "forbidden"),
            ("open.not.x", "forbidden"), ("hidden", "forbidden"), ("**", "forbidden"),
        ] {
            let reply = ask(#"{"op":"serve","id":1,"key":"\#(pattern)"}"#, from: guest)
            #expect(code(reply) == expected, "\(pattern)")
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
            ask(#"{"op":"pause","id":1,"sub":\#(sub),"client":\#(client)}"#, from: guest)
        }
        #expect(code(pause(1, client: 1)) == "ok" && code(pause(5, client: 1)) == "ok")
        let missing = pause(9, client: 1)
        #expect(code(missing) == "not_found")
        for sub in [2, 3, 4] { #expect(pause(sub, client: 1) == missing, "\(sub)") }
        #expect(pause(1, client: 77).replacing("77", with: "1") == missing)
        hub.send("subscribe **", from: guest)
        _ = hub.read(guest)
        #expect(code(ask("pause 1", from: guest)) == "ok")
    }

    @Test("a name brings the rights of its rules, and the next name other ones")
    func names() throws {
        try hub.follow(
            """
            {"rules": [{"plugin": "cart", "allow": {"publish": ["a"], "subscribe": ["a"]}},
                       {"allow": {"subscribe": ["b"]}}]}
            """
        )
        let client = hub.client()
        #expect(code(ask("publish a 1", from: client)) == "forbidden")
        hub.send("hello cart", from: client)
        _ = hub.read(client)
        #expect(code(ask("publish a 1", from: client)) == "ok")
        hub.send("subscribe **", from: client)
        _ = hub.read(client)
        hub.send("publish a 2", from: client)
        #expect(hub.read(client).contains { $0.contains("update") })
        hub.send("hello till\nhello other", from: client)
        _ = hub.read(client)
        let cart = hub.client()
        hub.send("hello cart\npublish a 3", from: cart)
        #expect(hub.read(client).isEmpty)
        #expect(code(ask("get a", from: client)) == "not_found")
    }

    @Test("root has the rights of the broker's own user")
    func root() {
        let root = hub.client(user: 0)
        #expect(code(ask("publish hidden 1", from: root)) == "ok")
    }

    @Test("another policy ends what it doesn't allow any more: observers, services, calls")
    func revoked() throws {
        hub.send("subscribe **", from: guest)
        hub.send(#"{"op":"serve","key":"open.a"}"#, from: guest)
        hub.send(#"{"op":"serve","key":"ask.me"}"#, from: owner)
        hub.send(#"{"op":"call","id":"d","key":"ask.me"}"#, from: guest)
        hub.send(#"{"op":"call","id":"e","key":"open.a"}"#, from: owner)
        _ = hub.read(guest)
        _ = hub.read(owner)
        let sent = try hub.follow(
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":7,"allow":{"subscribe":["both.*"]}}]}"#
        )
        #expect(sent.isEmpty)
        #expect(hub.read(guest).contains { $0.contains(#""error":"forbidden","id":"d""#) })
        #expect(hub.read(owner).contains { $0.contains(#""error":"provider_gone","id":"e""#) })
        #expect(code(ask("call open.a", from: owner)) == "no_provider")
        hub.send("publish open.a 7", from: owner)
        #expect(hub.read(guest).isEmpty)
        hub.send("publish both.x 7", from: owner)
        #expect(hub.read(guest).count == 1)
        #expect(!hub.hasDuties(guest) && !hub.isHeld(guest))
    }

    @Test("who loses sight of something and has lines to read is sent away; who doesn't stays")
    func unread() throws {
        let (reader, other) = (hub.client(user: 7), hub.client(user: 7))
        for client in [reader, other, guest] {
            hub.send("subscribe open.**", from: client)
            _ = hub.read(client)
        }
        hub.stopReading(guest)
        hub.send("pause 1", from: other)
        _ = hub.read(other)
        hub.send("publish open.a 8", from: owner)
        _ = hub.read(reader)
        _ = hub.read(owner)
        let more = Self.policy.replacing(#"["open.**", "both.*"]"#, with: #"["open.**", "both.*", "new"]"#)
        #expect(try hub.follow(more).isEmpty)
        #expect(try hub.follow(more).isEmpty)
        let less = Self.policy.replacing(#"["open.**", "both.*"]"#, with: #"["both.*"]"#)
        #expect(try hub.follow(less) == ["\(guest) revoked", "\(other) revoked"])
        #expect(
            try hub.follow(#"{"rules":[]}"#) == [guest, reader, other].map { "\($0) forbidden" }
        )
    }

    @Test("a key that comes into sight, or back into it, is told whole: pieces would be of what isn't known")
    func sight() throws {
        func write(_ value: String) -> [String] {
            hub.send("publish open.secret \(value)", from: owner)
            return hub.read(guest)
        }
        let open = Self.policy.replacing(#""open.secret", "#, with: "")
        _ = write(#"{"a":1,"b":2,"note":"long enough"}"#)
        hub.send(#"{"op":"subscribe","key":"open.*","diff":true}"#, from: guest)
        hub.send(#"{"op":"subscribe","key":"open.*","fields":["/a","/b"]}"#, from: guest)
        _ = hub.read(guest)
        try hub.follow(open)
        var told = write(#"{"a":2,"b":2,"note":"long enough"}"#)
        #expect(told.count == 2 && told[0].contains(#""value":{"a":2,"b":2,"#))
        #expect(told[1].contains(#""fields":{"/a":2,"/b":2}"#))
        told = write(#"{"a":3,"b":2,"note":"long enough"}"#)
        #expect(told.count == 2 && told[0].contains(#""patch":{"a":3}"#))
        #expect(told[1].contains(#""fields":{"/a":3}"#))
        try hub.follow(Self.policy)
        #expect(write(#"{"a":4,"b":3,"note":"long enough"}"#).isEmpty)
        try hub.follow(open)
        told = write(#"{"a":5,"b":3,"note":"long enough"}"#)
        #expect(told.count == 2 && told[0].contains(#""value":{"a":5,"b":3,"#))
        #expect(told[1].contains(#""fields":{"/a":5,"/b":3}"#))
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
