import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("what ends a value is told", .computing)
struct BoundTellingTests {
    private let hub = TestHub()

    private func publish(_ key: String, _ value: String, _ rest: String = "") -> String {
        #"{"op":"publish","key":"\#(key)","value":\#(value)\#(rest)}"#
    }

    private let hour = #","ttl":3600000"#
    private let connected = #","while":"connected""#

    @Test("to observers when it is written, in a snapshot, and to who asks, and not any more when it is free")
    func told() {
        let (writer, observer, late) = (hub.client(), hub.client(), hub.client())
        hub.send("subscribe **", from: observer)
        _ = hub.read(observer)
        hub.send(publish("a", "1", hour + connected), from: writer)
        #expect(
            hub.read(observer).last?.hasSuffix(##""by":"#1","while":"connected","ttl":3600000}"##) == true
        )
        hub.send("subscribe **", from: late)
        #expect(
            hub.read(late).contains {
                $0.hasSuffix(#","initial":true,"live":true,"while":"connected","ttl":3600000}"#)
            }
        )
        hub.expireAll(after: 1_000)
        hub.send("get a\nkeys", from: late)
        let replies = hub.read(late)
        #expect(replies[0].hasSuffix(#","live":true,"while":"connected","ttl":3599000}"#))
        #expect(replies[1].contains(#""live":true,"while":"connected","ttl":3599000}]"#))
        hub.send(publish("a", "2"), from: writer)
        #expect(hub.read(observer).last?.hasSuffix(##""by":"#1"}"##) == true)
        hub.send("get a", from: late)
        #expect(hub.read(late).last?.hasSuffix(#""live":true}"#) == true)
    }

    @Test("also in batches, wills, adds, and lines with only a part or a patch")
    func everywhere() {
        let (writer, observer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"**","initial":false,"values":false}"#, from: observer)
        hub.send(#"{"op":"subscribe","key":"**","initial":false,"fields":["/n"],"sub":"f"}"#, from: observer)
        hub.send(#"{"op":"subscribe","key":"**","initial":false,"diff":true,"sub":"d"}"#, from: observer)
        _ = hub.read(observer)
        let value = #"{"n":1,"text":"long enough to be worth a patch"}"#
        hub.send(
            #"{"op":"batch","writes":[\#(publish("a", value, hour)),\#(publish("b", "1"))]}"#,
            from: writer
        )
        let lines = hub.read(observer)
        #expect(lines.filter { $0.contains(#""key":"a""#) }.allSatisfy { $0.hasSuffix(#","ttl":3600000}"#) })
        #expect(lines.count { $0.hasSuffix(#","ttl":3600000}"#) } == 3)
        hub.send(#"{"op":"add","key":"a","value":1,"field":"/n","ttl":1000}"#, from: writer)
        let sums = hub.read(observer)
        #expect(sums.count == 3 && sums.allSatisfy { $0.hasSuffix(#","ttl":1000}"#) })
        #expect(sums.contains { $0.contains(#""patch":{"n":2}"#) })
        hub.send(#"{"op":"will","write":\#(publish("w", "1", hour))}"#, from: writer)
        hub.leave(0)
        #expect(hub.read(observer).contains { $0.hasSuffix(#","reason":"will","ttl":3600000}"#) })
    }

    @Test("an observer that is behind is told what is left then")
    func behind() {
        let (writer, observer) = (hub.client(), hub.client())
        hub.send("subscribe a", from: observer)
        hub.send("pause 1", from: observer)
        _ = hub.read(observer)
        hub.send(publish("a", "1", hour), from: writer)
        hub.send(publish("a", "2", hour), from: writer)
        hub.expireAll(after: 60_000)
        hub.send("resume 1", from: observer)
        #expect(hub.read(observer).last?.hasSuffix(#","skipped":1,"ttl":3540000}"#) == true)
    }

    @Test("a begun millisecond counts as one, and a time that no clock reaches is told as it is")
    func limits() {
        #expect(Deadlines.milliseconds(from: 5, until: 5) == 0)
        #expect(Deadlines.milliseconds(from: 5, until: 6) == 1)
        #expect(Deadlines.milliseconds(from: 0, until: 1_000_000) == 1)
        #expect(Deadlines.milliseconds(from: 0, until: 1_000_001) == 2)
        #expect(Deadlines.milliseconds(from: 7, until: 6) == 0)
        let writer = hub.client()
        hub.send(publish("a", "1", #","ttl":9007199254740991"#), from: writer)
        hub.send("get a", from: writer)
        let left = hub.read(writer).last?.firstMatch(of: /"ttl":([0-9]+)}$/).flatMap { UInt64($0.1) } ?? 0
        #expect(left == Limits.integerMax)
    }
}
