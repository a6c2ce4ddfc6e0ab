import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("feedback between plugins", .someAtATime)
struct LoopTests {
    private let test = BareHub()
    private let (left, right): (SessionHandle, SessionHandle)
    /// How many loops were found.
    private var found: Int { test.hub.insight.warnings.latest.count }

    init() {
        (left, right) = (test.client(), test.client())
        test.send("hello left", from: left)
        test.send("hello right", from: right)
    }

    /// Two clients write by turns, each because of what the other wrote.
    private func write(
        rounds: Int, _ one: (UInt64) -> String = { write("ping", cause: $0) },
        _ other: (UInt64) -> String = { write("pong", cause: $0) }
    ) {
        for _ in 0..<rounds {
            test.send(one(test.hub.revision), from: left)
            test.send(other(test.hub.revision), from: right)
            test.endTurn()
        }
    }

    private static func write(_ key: String, cause: UInt64, operation: String = "publish") -> String {
        #"{"op":"\#(operation)","key":"\#(key)","value":1,"cause":\#(cause)}"#
    }

    @Test("a chain that has come back 15 times is none yet, one that has 16 times is a warning")
    func limit() {
        write(rounds: 16)
        #expect(found == 0)
        write(rounds: 1)
        let steps = test.hub.insight.warnings.latest.map(\.steps)
        #expect(steps == [[.init(key: "ping", by: #""left""#), .init(key: "pong", by: #""right""#)]])
    }

    @Test("a loop that goes on for long is one warning")
    func goesOn() {
        write(rounds: 2000)
        #expect(found == 1)
    }

    @Test("unrelated writes between those of a loop don't hide it")
    func interleaved() {
        let busy = test.client()
        var cause: UInt64 = 0
        for _ in 0..<20 {
            write(rounds: 1, { _ in Self.write("ping", cause: cause) })
            cause = test.hub.revision
            for number in 0..<10 { test.send("publish busy.\(number) 1", from: busy) }
        }
        #expect(found == 1)
    }

    @Test("a loop through emits, which take no revision, is found as well")
    func emits() {
        test.send("subscribe *", from: left)
        write(rounds: 20, { Self.write("ping", cause: max(1, $0), operation: "emit") })
        #expect(found == 1)
    }

    @Test("so is one of writes with an origin")
    func origins() {
        write(rounds: 20, { #"{"op":"publish","key":"a","value":1,"cause":\#($0),"origin":"x"}"# })
        #expect(found == 1)
    }

    @Test("a loop within a batch is found")
    func batches() {
        write(
            rounds: 20,
            { cause in
                let writes = ["a", "b"].map { Self.write($0, cause: cause) }
                return #"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#
            },
            { Self.write("c", cause: $0) }
        )
        #expect(test.hub.insight.warnings.latest.contains { $0.steps.contains { $0.key == "c" } })
        #expect(found == 1)
    }

    @Test("the same key written again and again without a cause, or for other causes, is no loop")
    func noLoop() {
        write(rounds: 100, { _ in "publish a 1" }, { Self.write("b", cause: $0) })
        #expect(found == 0)
    }

    @Test("causes that never were, lie ahead or name the write itself lead nowhere")
    func oddCauses() {
        for cause in [1, 2, 3, 5, 77, 9_007_199_254_740_991] as [UInt64] {
            for kind in ["publish", "emit"] {
                test.send(Self.write("a", cause: cause, operation: kind), from: left)
            }
        }
        #expect(found == 0)
    }

    @Test("the longest loop that is looked for has 32 steps, one of 33 is not found", arguments: [32, 33])
    func longest(length: Int) {
        for step in 0..<length * 18 {
            test.send(Self.write("k\(step % length)", cause: test.hub.revision), from: left)
            test.endTurn()
        }
        #expect(found == (length == 32 ? 1 : 0))
    }
}
