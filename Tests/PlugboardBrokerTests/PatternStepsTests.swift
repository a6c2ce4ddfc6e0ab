import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("What a user's patterns may cost", .computing)
struct PatternStepsTests {
    private let hub = TestHub()

    /// All patterns of so many tokens that are each `a` or `*`, in requests.
    private func wildcards(_ tokens: Int) -> [String] {
        let patterns = (0..<1 << tokens).map { number in
            "\"" + (0..<tokens).map { number >> $0 & 1 == 1 ? "*" : "a" }.joined(separator: ".") + "\""
        }
        return stride(from: 0, to: patterns.count, by: Limits.patternsMax).map { start in
            let some = patterns[start..<min(patterns.count, start + Limits.patternsMax)]
            return #"{"op":"subscribe","initial":false,"keys":["# + some.joined(separator: ",") + "]}"
        }
    }

    private func isRefused(_ line: String, from client: Int) -> Bool {
        let answer = hub.ask(line, from: client)
        return answer.contains(#""error":"limit""#) && answer.contains("\(Limits.patternStepsMax) steps")
    }

    @Test("is as much as the limit, and not one step more; nothing is left of what was refused")
    func limit() {
        let client = hub.client()
        // 2^10 - 1 steps, without that of the one key among them: two are left.
        for line in wildcards(9) { #expect(!isRefused(line, from: client)) }
        #expect(!isRefused("subscribe a.**", from: client))
        #expect(!isRefused("subscribe *.**", from: client))
        #expect(isRefused("subscribe a.a.**", from: client))
        #expect(isRefused(#"{"op":"subscribe","sub":"x","keys":["b.c","*.*.**"]}"#, from: client))
        #expect(hub.patternSteps == Limits.patternStepsMax)
        #expect(hub.ask("unsubscribe x", from: client).contains("unknown_sub"))
        // Patterns with tokens of their own cost nothing beside those.
        #expect(!isRefused("subscribe b.*", from: client))
        #expect(!isRefused("subscribe b.c.*.d.**", from: client))
    }

    @Test("is given back by who unsubscribes, and by who leaves")
    func back() {
        let (one, other) = (hub.client(), hub.client())
        for line in wildcards(9) { #expect(!isRefused(line, from: one)) }
        #expect(!isRefused("subscribe a.**", from: other))
        #expect(!isRefused("subscribe *.**", from: other))
        #expect(isRefused("subscribe a.a.**", from: other))
        #expect(hub.ask("unsubscribe 1", from: other).contains(#""ok":"unsubscribe""#))
        #expect(!isRefused("subscribe a.a.**", from: other))
        hub.leave(one)
        #expect(hub.patternSteps == 6)
        hub.leave(other)
        #expect(hub.patternSteps == 0)
    }

    @Test("is not what those of other users cost")
    func users() throws {
        let all = #""allow":{"everything":["**"]}"#
        try hub.follow(#"{"rules":[{"user":1,\#(all)},{"user":2,\#(all)}]}"#)
        let (one, other) = (hub.client(user: 1), hub.client(user: 2))
        for line in wildcards(9) { #expect(!isRefused(line, from: one)) }
        for line in wildcards(9) { #expect(!isRefused(line, from: other)) }
        #expect(!isRefused("subscribe a.**\nsubscribe *.**", from: one))
        #expect(isRefused("subscribe *.*.**", from: one))
        #expect(!isRefused("subscribe *.**", from: other))
        #expect(hub.ask("publish a.a.a.a.a.a.a.a.a 1", from: one).contains("revision"))
        #expect(hub.read(other).count == wildcards(9).count + 1)
    }

    @Test("has the same limit for what is served")
    func services() {
        let client = hub.client()
        var refused = 0
        for number in 0..<1 << 9 {
            let pattern = (0..<9).map { number >> $0 & 1 == 1 ? "*" : "a" }.joined(separator: ".")
            if isRefused("serve \(pattern)", from: client) { refused += 1 }
        }
        #expect(refused == 0)
        #expect(!isRefused("serve a.**", from: client))
        #expect(isRefused("serve *.**", from: client))
        #expect(hub.ask("unserve a.**", from: client).contains(#""ok":"unserve""#))
        #expect(!isRefused("serve *.**", from: client))
    }
}
