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
}
