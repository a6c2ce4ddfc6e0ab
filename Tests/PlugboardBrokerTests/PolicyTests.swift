import Foundation
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("reading a policy")
struct PolicyReaderTests {
    private static let accounts = AccountNumbers(
        user: { ["alice": 1_001, "bob": 1_002][$0] }, group: { ["shop": 50][$0] }
    )

    private func read(_ text: String) throws(Refusal) -> Policy {
        try PolicyReader.policy(in: Array(text.utf8), Self.accounts)
    }

    /// The problem in a policy's text, in words for a person.
    private func problem(_ text: String) -> String {
        do throws(Refusal) {
            _ = try read(text)
            return "none"
        } catch {
            return PolicyProblem(error, in: Array(text.utf8), of: "p").description
        }
    }

    private func patterns(_ list: [[UInt8]]) -> [String] { list.map { String(decoding: $0, as: UTF8.self) } }

    @Test("names become numbers, one or many, and everything stands for each action")
    func good() throws {
        let policy = try read(
            """
            {
              "x-about": {"anything": [1]},
              "rules": [
                {"allow": {"everything": ["**", "$broker.**"]}},
                {"user": ["alice", 7], "group": "shop", "plugin": ["cart", "till"], "x-why": "so",
                 "allow": {"subscribe": "cart.*", "emit": []}, "deny": {"subscribe": ["cart.a", "cart.\\u0062"]}},
                {"user": "*", "deny": {"control": ["**"]}}
              ]
            }

            """
        )
        #expect(policy.ruleCount == 3)
        for action in PolicyAction.allCases {
            #expect(patterns(policy.rules[0].allow[action]) == ["**", "$broker.**"])
        }
        #expect(policy.rules[1].users == .numbers([1_001, 7]))
        #expect(policy.rules[1].groups == [50])
        #expect(policy.rules[1].plugins == ["cart", "till"])
        #expect(patterns(policy.rules[1].allow[.subscribe]) == ["cart.*"])
        #expect(policy.rules[1].allow[.emit].isEmpty && policy.rules[1].allow[.publish].isEmpty)
        #expect(patterns(policy.rules[1].deny[.subscribe]) == ["cart.a", "cart.b"])
        #expect(policy.rules[2].users == .everybody)
        #expect(policy.admitsOthers)
        #expect(try read(#"{"rules":[]}"#).summary == "no rules, so nobody may do anything")
    }

    @Test(
        "what is wrong is told with its place",
        arguments: [
            ("", "1:1: not JSON: expected a value"),
            ("{\"rules\":[]} x", "1:14: something stands behind the policy"),
            ("[]", "1:1: the policy is an object"),
            ("{}", "1:1: \"rules\" is missing"),
            ("{\"rules\":{}}", "1:10: \"rules\" is an array of rules"),
            ("{\"rules\":[],\"rules\":[]}", "1:13: \"rules\" stands twice"),
            ("{\n  \"rule\": []\n}", "2:3: the policy has no member \"rule\"; did you mean \"rules\"?"),
            ("{\"rules\":[\n 1]}", "2:2: a rule is an object"),
        ]
    )
    func faults(text: String, expected: String) {
        #expect(problem(text) == "p:\(expected)")
    }

    @Test(
        "what is wrong in a rule or in quotas is told with its place",
        arguments: [
            (#"{}"#, #"1: the rule neither allows nor denies anything"#),
            (#"{"é":1}"#, #"2: a rule has no member "é"; it may have user, group, plugin, allow, deny"#),
            (#"{"user":"eve","allow":{}}"#, #"9: there is no user "eve" on this system"#),
            (#"{"group":"alice","allow":{}}"#, #"10: there is no group "alice" on this system"#),
            (#"{"user":-1,"allow":{}}"#, #"9: -1 is no number of a user"#),
            (#"{"user":4294967295,"allow":{}}"#, #"9: 4294967295 is no number of a user"#),
            (#"{"user":1.5,"allow":{}}"#, #"9: 1.5 is no number of a user"#),
            (#"{"user":null,"allow":{}}"#, #"9: a user is a name or a number"#),
            (#"{"user":[],"allow":{}}"#, #"9: no user is named"#),
            (#"{"plugin":[],"allow":{}}"#, #"11: no plugin is named"#),
            (#"{"user":[1,"*"],"allow":{}}"#, #"12: "*" stands alone, and only for users: "user": "*""#),
            (
                ##"{"plugin":"#1","allow":{}}"##,
                ##"11: no client is called "#1": a name does not begin with # or $"##
            ),
            (#"{"plugin":1,"allow":{}}"#, #"11: a plugin is the name that it gives itself"#),
            (#"{"allow":["**"]}"#, #"10: "allow" is an object"#),
            (#"{"deny":{"publsh":[]}}"#, #"10: "deny" has no member "publsh"; did you mean "publish"?"#),
            (#"{"allow":{"call":[1]}}"#, #"19: "call" is a pattern, or an array of them"#),
            (
                #"{"allow":{"call":["a","a.**.b"]}}"#,
                #"23: "a.**.b" is no pattern: ** can only be the last token"#
            ),
            (#"7"#, #"1: "quotas" is an array of quotas"#), (#"[{}]"#, #"2: a quota names its "user""#),
            (#"[{"user":7,"keys":-1}]"#, #"19: "keys" is a whole number"#),
            (#"[{"user":7,"keys":1.5}]"#, #"19: "keys" is a whole number"#),
            (#"[{"user":7,"kyes":1}]"#, #"12: a quota has no member "kyes"; did you mean "keys"?"#),
            (#"[{"user":7},{"user":[8,7]}]"#, #"13: there are two quotas for user 7"#),
            (#"[{"user":"*"},{"user":"*"}]"#, #"15: there are two quotas for "*""#),
        ]
    )
    func partFaults(part: String, expected: String) {
        let isRule = part.hasPrefix("{")
        let text = isRule ? "{\"rules\":[\n\(part)\n]}" : "{\"rules\":[],\"quotas\":\n\(part)}"
        #expect(problem(text) == "p:2:\(expected)")
    }

    @Test("others have a quota in any case, this user and root only by name")
    func defaults() throws {
        let policy = try read(#"{"rules":[],"quotas":[{"user":7,"keys":2}]}"#)
        #expect(policy.quota(of: 8, owner: 1_000) == .others)
        #expect([1_000, 0].allSatisfy { policy.quota(of: $0, owner: 1_000) == .unlimited })
        #expect([1_000, 7].allSatisfy { policy.quota(of: 7, owner: $0).keys == 2 })
        #expect(policy.quota(of: 7, owner: 1_000).kept == Quota.others.kept)
    }

    @Test(
        "the policies on the page and in the specification are taken",
        arguments: ["protocol/POLICY.md", "protocol/SPEC.md"]
    )
    func examples(page: String) throws {
        let package = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: package.appendingPathComponent(page), encoding: .utf8)
        let anybody = AccountNumbers(user: { _ in 1 }, group: { _ in 1 })
        let blocks = text.components(separatedBy: "```json\n").dropFirst()
            .map { $0.components(separatedBy: "\n```")[0] }.filter { $0.contains("\"rules\"") }
        #expect(blocks.count == (page == "protocol/POLICY.md" ? 1 : 2))
        for block in blocks {
            #expect(try PolicyReader.policy(in: Array(block.utf8), anybody).ruleCount > 1)
        }
    }

    @Test(
        "rules, patterns, names and quotas are bounded: so many, and one more",
        arguments: [
            ("1:22: there are at most 1024 quotas", #"{"rules":[],"quotas":[LIST]}"#, #"{"user":N}"#),
            ("1:10: there are at most 1024 rules", #"{"rules":[LIST]}"#, #"{"allow":{}}"#),
            ("1:28: a list has at most 1024 patterns", #"{"rules":[{"allow":{"emit":[LIST]}}]}"#, #""aN""#),
            ("1:30: a rule names at most 1024 of a kind", #"{"rules":[{"allow":{},"user":[LIST]}]}"#, "N"),
        ]
    )
    func bounds(expected: String, policy: String, element: String) {
        for (count, result) in [(1_024, "none"), (1_025, "p:\(expected)")] {
            let list = (0..<count).map { element.replacing("N", with: "\($0)") }.joined(separator: ",")
            #expect(problem(policy.replacing("LIST", with: list)) == result)
        }
    }

    @Test("cut anywhere it is refused")
    func cut() {
        let text =
            #"{"rules":[{"user":"alice","plugin":["cart"],"allow":{"emit":["a.*"]},"deny":{"call":["c"]}}]}"#
        #expect(problem(text) == "none")
        for count in text.indices { #expect(problem(String(text[..<count])) != "none") }
    }
}

@Suite("a broker with a policy", .someAtATime)
struct PolicyBrokerTests {
    /// What a broker has reported last.
    private let reported = Shared<String?>(nil)

    private func broker(_ poller: PollerKind = .standard) throws -> TestBroker {
        try TestBroker(poller: poller, policy: Policy.read(all)) { [reported] in reported.set($0) }
    }

    private func report() throws -> String {
        var report: String?
        try eventually("a report") {
            report = reported.exchange(nil)
            return report != nil
        }
        return report ?? ""
    }

    private let all = #"{"rules":[{"allow":{"everything":["**"]}}]}"#
    private let little = #"{"rules":[{"allow":{"everything":["open"],"publish":["**"]}}]}"#

    @Test(
        "nobody is told anything of a right that was taken once that is reported",
        arguments: PollerKind.allCases
    )
    func revoked(poller: PollerKind) throws {
        let broker = try broker(poller)
        let (observer, writer) = (try broker.client(), try broker.client())
        _ = try observer.ask(#"{"op":"subscribe","key":"**","initial":false}"#)
        for round in 0..<20 {
            for index in 0..<50 { try writer.send(#"{"op":"publish","key":"closed","value":\#(index)}"#) }
            try broker.follow(Policy.read(little))
            #expect(try report() == "the policy was loaded anew: 1 rule, for this user and root")
            #expect(try writer.ask(#"publish closed "gone""#).contains(#""ok""#))
            #expect(try writer.ask(#"publish open "end \#(round)""#).contains(#""ok""#))
            var line = ""
            repeat {
                line = try observer.line()
                #expect(!line.contains("gone"))
            } while !line.contains("end \(round)")
            try broker.follow(Policy.read(all))
            _ = try report()
        }
    }

    @Test("who has closed half, and may not serve any more what it served, is done with")
    func nothingToServe() throws {
        let broker = try broker()
        let server = try broker.client()
        _ = try server.ask("serve a")
        server.peer.finish()
        try broker.follow(Policy.read(little))
        #expect(try server.lineOrEnd() == nil)
    }

    @Test("the socket is open to others while a rule is about them, and only then")
    func modes() throws {
        let plain = try TestBroker()
        #expect(SystemCalls.mode(plain.path) == 0o600)
        let broker = try broker()
        #expect(SystemCalls.mode(broker.path) == 0o600)
        try broker.follow(Policy.read(#"{"rules":[{"user":"*","allow":{}}]}"#))
        #expect(SystemCalls.mode(broker.path) == 0o666)
        #expect(try report() == "the policy was loaded anew: 1 rule, for other users as well")
        try broker.follow(Policy.read(all))
        #expect(SystemCalls.mode(broker.path) == 0o600)
    }

    @Test("the kernel tells the groups of who connects")
    func groups() throws {
        let pair = try UnixSocket.pair()
        let told = Set(PeerIdentity.groups(of: pair.first.raw))
        #expect(told == SystemCalls.ownGroups())
    }

    @Test("users and groups have the numbers that the system gives them")
    func accounts() {
        #expect(Accounts.user(named: "root") == 0)
        #expect(Accounts.group(named: "nobody-is-in-this") == nil && Accounts.user(named: "") == nil)
        #expect(Accounts.ownUser == geteuid())
    }
}
