import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("policy", .someAtATime)
final class PolicyTests: FolderSuite {
    @Test("check says what a file comes to, or where it is wrong, with status 1")
    func check() throws {
        try folder.write("good.json", #"{"rules":[{"allow":{"everything":["**"]}},{"user":"*","allow":{}}]}"#)
        try folder.write("bad.json", "{\"rules\":[\n  {\"alow\":{}}]}")
        let good = try plugboard("policy", "check", "good.json", in: folder)
        #expect(good.end == .exited(0) && good.output == "fine: 2 rules, for other users as well\n")
        try folder.write("empty.json", #"{"rules":[]}"#)
        let empty = try plugboard("policy", "check", "empty.json", in: folder)
        #expect(empty.output == "fine: no rules, so nobody may do anything\n")
        for (quotas, told) in [
            (#"{"user":[0,65534]}"#, "2 users"), (#"{"user":"*"}"#, "all others"),
            (#"{"user":"*"},{"user":65534}"#, "1 user and all others"),
        ] {
            try folder.write("quotas.json", #"{"rules":[{"allow":{}}],"quotas":[\#(quotas)]}"#)
            let finished = try plugboard("policy", "check", "quotas.json", in: folder)
            #expect(finished.output == "fine: 1 rule, for this user and root; quotas for \(told)\n")
        }
        let bad = try plugboard("policy", "check", "bad.json", in: folder)
        #expect(bad.end == .exited(1) && bad.output.isEmpty)
        #expect(bad.messages.contains(#"bad.json:2:4: a rule has no member "alow"; did you mean "allow"?"#))
        #expect(try plugboard("policy", "check", "none.json", in: folder).end == .exited(1))
        #expect(try plugboard("policy", "chekc", "good.json", in: folder).end == .exited(64))
        try folder.write("long.json", #"{"rules":[]}"# + String(repeating: " ", count: 1_048_576))
        #expect(try plugboard("policy", "check", "long.json", in: folder).end == .exited(1))
    }

    @Test("the policy in the help is valid")
    func help() throws {
        let lines = Command.policy.syntax.help.split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.contains(#"{"rules": ["#) })
        let end = try #require(lines.firstIndex { $0.contains("]}") && !$0.contains(":") })
        let text = lines[start...end].joined(separator: "\n").replacing(#""alice""#, with: "0")
        try folder.write("p.json", text)
        #expect(try plugboard("policy", "check", "p.json", in: folder).output.hasPrefix("fine: 3 rules"))
    }

    @Test("what needs a key of the broker's own says that the policy hides it")
    func hidden() throws {
        try folder.write("p.json", #"{"rules":[{"allow":{"everything":["**"]}}]}"#)
        let broker = try startBroker(in: folder, "--policy", "p.json")
        defer { broker.signal(SIGTERM) }
        for command in ["services", "status", "metrics", "restart"] {
            let finished = try run(command)
            #expect(finished.end == .exited(1) && finished.output.isEmpty, "\(command)")
            let message = "the broker's policy doesn't let this client see $broker."
            #expect(finished.messages.contains(message), "\(command): \(finished.messages)")
        }
    }

    @Test("SIGHUP loads the file again; a wrong file changes nothing, and the broker says so")
    func reload() throws {
        try folder.write("p.json", #"{"rules":[{"allow":{"everything":["a"]}}]}"#)
        let broker = try startBroker(in: folder, "--policy", "p.json")
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
        let refused = try plugboard("publish", "b", "1", in: folder)
        #expect(refused.end == .exited(1))
        #expect(refused.messages.contains(#"the policy does not let this client publish "b""#))
        try folder.write("p.json", #"{"rules":[{"allow":{"everything":["b"]}}"#)
        broker.signal(SIGHUP)
        try eventually("it says what is wrong") {
            broker.messages.contains("the policy stays as it was: p.json:1:41: not JSON")
        }
        #expect(try plugboard("get", "a", in: folder).output == "1\n")
        try folder.write("p.json", #"{"rules":[{"allow":{"everything":["b"]}}]}"#)
        broker.signal(SIGHUP)
        try eventually("it says that it was loaded") {
            broker.messages.contains("the policy was loaded anew: 1 rule, for this user and root")
        }
        #expect(try plugboard("get", "a", in: folder).end == .exited(1))
        #expect(try plugboard("publish", "b", "1", in: folder).end == .exited(0))
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }

    @Test("a broker does not start with a wrong policy")
    func wrongAtStart() throws {
        try folder.write("p.json", "{}")
        let run = try plugboard("broker", "--policy", "p.json", in: folder)
        #expect(run.end == .exited(1) && run.messages.contains(#"p.json:1:1: "rules" is missing"#))
    }

    @Test(
        "without a rule another user is refused; with a rule it gets those rights", .enabled(if: canBeNobody)
    )
    func otherUser() throws {
        SystemCalls.setMode(folder.path, 0o755)
        let broker = try startBroker(in: folder)
        SystemCalls.setMode(folder.socket, 0o666)
        // If the client wrote, it would find the connection closed and couldn't read why.
        let turned = try nobody("", "-d")
        #expect(turned.hasPrefix(#"{"event":"bye","reason":"forbidden""#))
        broker.signal(SIGTERM)
        _ = try broker.finished()
        try folder.write(
            "p.json",
            #"{"rules":[{"allow":{"everything":["**"]}},{"user":65534,"allow":{"subscribe":["a"]}}]}"#
        )
        let second = try startBroker(in: folder, "--policy", "p.json", "--memory")
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
        let lines = try nobody("get a\npublish a 2\nkeys").split(separator: "\n")
        try #require(lines.count == 4)
        #expect(lines[1].hasPrefix(#"{"ok":"get","key":"a","#))
        #expect(lines[2].hasPrefix(#"{"error":"forbidden""#))
        #expect(lines[3].contains(#""keys":[{"key":"a","#))
        second.signal(SIGTERM)
        #expect(try second.finished().end == .exited(0))
    }

    /// What `nc` gets as the user 65534.
    private func nobody(_ lines: String, _ option: String = "-N") throws -> String {
        try Run(
            program: "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", "nc", option, "-U", folder.socket],
            in: folder,
            input: lines + "\n"
        ).finished().output
    }

    private static let canBeNobody =
        Accounts.ownUser == 0 && FileStatus.isRunnable(path: "/usr/bin/setpriv")
        && FileStatus.isRunnable(path: "/usr/bin/nc")
}
