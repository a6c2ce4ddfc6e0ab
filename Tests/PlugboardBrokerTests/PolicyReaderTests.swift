import Foundation
import Testing

@testable import PlugboardBroker

@Suite("reading a policy")
struct PolicyReaderTests {
    private static let accounts = AccountNumbers(
        user: { ["alice": 1_001, "bob": 1_002][$0] }, group: { ["shop": 50][$0] }
    )

    private func read(_ text: String) throws(PolicyFault) -> Policy {
        try PolicyReader.policy(in: Array(text.utf8), Self.accounts)
    }

    /// The problem in a policy's text, in words for a person.
    private func problem(_ text: String) -> String {
        do throws(PolicyFault) {
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
        #expect(try read(#"{"rules":[]}"#).summary == "0 rules, for this user and root")
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
        "what is wrong in a rule is told with its place",
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
        ]
    )
    func ruleFaults(rule: String, expected: String) {
        #expect(problem("{\"rules\":[\n\(rule)\n]}") == "p:2:\(expected)")
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

    @Test("rules, patterns and names are bounded: so many, and one more")
    func bounds() {
        func rules(_ count: Int) -> String {
            #"{"rules":[\#(Array(repeating: #"{"allow":{}}"#, count: count).joined(separator: ","))]}"#
        }
        func patterns(_ count: Int) -> String {
            let list = (0..<count).map { "\"a\($0)\"" }.joined(separator: ",")
            return #"{"rules":[{"allow":{"emit":[\#(list)]}}]}"#
        }
        func users(_ count: Int) -> String {
            #"{"rules":[{"allow":{},"user":[\#((0..<count).map(String.init).joined(separator: ","))]}]}"#
        }
        #expect(problem(rules(PolicyLimits.rulesMax)) == "none")
        #expect(problem(rules(PolicyLimits.rulesMax + 1)) == "p:1:10: there are at most 1024 rules")
        #expect(problem(patterns(PolicyLimits.patternsMax)) == "none")
        #expect(problem(patterns(PolicyLimits.patternsMax + 1)) == "p:1:28: a list has at most 1024 patterns")
        #expect(problem(users(PolicyLimits.namesMax)) == "none")
        #expect(problem(users(PolicyLimits.namesMax + 1)) == "p:1:30: a rule names at most 1024 of a kind")
    }

    @Test("cut anywhere it is refused, and so is every byte of it turned to another")
    func damaged() throws {
        let text = Array(
            #"{"rules":[{"user":"alice","plugin":["cart"],"allow":{"emit":["a.*"]},"deny":{"call":["c"]}}]}"#
                .utf8
        )
        _ = try PolicyReader.policy(in: text, Self.accounts)
        for count in text.indices {
            #expect(throws: PolicyFault.self) {
                try PolicyReader.policy(in: Array(text[..<count]), Self.accounts)
            }
        }
        for index in text.indices {
            for byte in UInt8.min ... .max {
                var changed = text
                changed[index] = byte
                // Whatever the result is, the reader must return.
                _ = try? PolicyReader.policy(in: changed, Self.accounts)
            }
        }
    }
}
