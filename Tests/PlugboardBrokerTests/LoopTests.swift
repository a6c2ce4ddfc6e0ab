import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("feedback between plugins", .someAtATime)
struct LoopTests {
    /// Two clients. Each writes because of what the other wrote.
    private func pingPong(_ test: BareHub, rounds: Int, between: () -> Void = {}) {
        let (left, right) = (test.client(), test.client())
        test.send(#"{"op":"hello","name":"left"}"#, from: left)
        test.send(#"{"op":"hello","name":"right"}"#, from: right)
        test.send(#"{"op":"publish","key":"ping","value":0}"#, from: left)
        for _ in 0..<rounds {
            test.send(#"{"op":"publish","key":"pong","value":1,"cause":\#(test.hub.revision)}"#, from: right)
            let cause = test.hub.revision
            between()
            test.send(#"{"op":"publish","key":"ping","value":1,"cause":\#(cause)}"#, from: left)
            test.endTurn()
        }
    }

    @Test("a chain that has come back 15 times is none yet, one that has 16 times is a warning")
    func limit() {
        let test = BareHub()
        pingPong(test, rounds: 15)
        let before = test.hub.insight.warnings.latest.count
        #expect(before == 0)
        let other = BareHub()
        pingPong(other, rounds: 17)
        let steps = other.hub.insight.warnings.latest.map(\.steps)
        #expect(steps == [[.init(key: "ping", by: #""left""#), .init(key: "pong", by: #""right""#)]])
    }

    @Test("a loop that goes on for long is one warning")
    func goesOn() {
        let test = BareHub()
        pingPong(test, rounds: 2000)
        let count = test.hub.insight.warnings.latest.count
        #expect(count == 1)
    }

    @Test("unrelated writes between those of a loop don't hide it")
    func interleaved() {
        let test = BareHub()
        let busy = test.client()
        pingPong(test, rounds: 20) {
            for number in 0..<10 {
                test.send(#"{"op":"publish","key":"busy.\#(number)","value":1}"#, from: busy)
            }
        }
        let count = test.hub.insight.warnings.latest.count
        #expect(count == 1)
    }

    @Test("a loop through emits, which take no revision, is found as well")
    func emits() {
        let test = BareHub()
        let (left, right) = (test.client(), test.client())
        test.send("subscribe *", from: left)
        for _ in 0..<20 {
            let cause = max(1, test.hub.revision)
            test.send(#"{"op":"emit","key":"ping","value":1,"cause":\#(cause)}"#, from: left)
            test.send(#"{"op":"publish","key":"pong","value":1,"cause":\#(test.hub.revision)}"#, from: right)
            test.endTurn()
        }
        let count = test.hub.insight.warnings.latest.count
        #expect(count == 1)
    }

    @Test("a loop within a batch is found")
    func batches() {
        let test = BareHub()
        let (left, right) = (test.client(), test.client())
        for _ in 0..<20 {
            let cause = test.hub.revision
            test.send(
                #"{"op":"batch","writes":[{"op":"publish","key":"a","value":1,"cause":\#(cause)},{"op":"publish","key":"b","value":1,"cause":\#(cause)}]}"#,
                from: left
            )
            test.send(#"{"op":"publish","key":"c","value":1,"cause":\#(test.hub.revision)}"#, from: right)
            test.endTurn()
        }
        let keys = Set(test.hub.insight.warnings.latest.flatMap { $0.steps.map(\.key) })
        #expect(keys.isSuperset(of: ["c"]))
        let count = test.hub.insight.warnings.latest.count
        #expect(count == 1)
    }

    @Test("the same key written again and again without a cause, or for other causes, is no loop")
    func noLoop() {
        let test = BareHub()
        let (left, right) = (test.client(), test.client())
        for _ in 0..<100 {
            test.send(#"{"op":"publish","key":"a","value":1}"#, from: left)
            test.send(#"{"op":"publish","key":"b","value":1,"cause":\#(test.hub.revision)}"#, from: right)
            test.endTurn()
        }
        let count = test.hub.insight.warnings.latest.count
        #expect(count == 0)
    }

    @Test("causes that never were, lie ahead or name the write itself lead nowhere")
    func oddCauses() {
        let test = BareHub()
        let client = test.client()
        for cause in [1, 2, 3, 5, 77, 9_007_199_254_740_991] {
            test.send(#"{"op":"publish","key":"a","value":1,"cause":\#(cause)}"#, from: client)
            test.send(#"{"op":"emit","key":"a","value":1,"cause":\#(cause)}"#, from: client)
        }
        let count = test.hub.insight.warnings.latest.count
        #expect(count == 0)
    }

    @Test("the longest loop that is looked for has 32 steps, one of 33 is not found")
    func longest() {
        for (length, found) in [(32, 1), (33, 0)] {
            let test = BareHub()
            let client = test.client()
            for step in 0..<length * 18 {
                let key = "k\(step % length)"
                test.send(
                    #"{"op":"publish","key":"\#(key)","value":1,"cause":\#(test.hub.revision)}"#,
                    from: client
                )
                test.endTurn()
            }
            let count = test.hub.insight.warnings.latest.count
            #expect(count == found, "a loop of \(length)")
        }
    }

    @Test("the latest 32 warnings are kept")
    func kept() {
        var warnings = Warnings()
        for number in 0...Warnings.keptMax {
            warnings.raise([.init(key: "k\(number)", by: #""x""#)], revision: 1, at: 1)
        }
        let (count, first) = (warnings.latest.count, warnings.latest.first?.number)
        #expect(count == Warnings.keptMax)
        #expect(first == 2)
    }
}
