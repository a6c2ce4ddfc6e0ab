// A small value is kept together with its key, and a large one in memory of its own. No client may notice
// the difference, whatever lengths follow each other.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("A value in memory", .computing)
struct ValueMemoryTests {
    /// JSON of this many bytes.
    private func value(_ count: Int) -> String {
        count < 2 ? "7" : "\"\(String(repeating: "x", count: count - 2))\""
    }

    @Test(
        "the last value is the one that is kept and the one before is the old one, at each length",
        arguments: [1, 100, 512, 513, 5000]
    )
    func lengths(first: Int) {
        let hub = BareHub()
        let client = hub.client()
        hub.take(#"{"op":"subscribe","key":"k","old":true}"#, from: client)
        var last: String?
        for length in [first, 1, 24, 25, 100, 511, 512, 513, 5000, 300, 1, first] {
            let value = value(length)
            hub.take(#"{"op":"publish","key":"k","value":\#(value)}"#, from: client)
            hub.take(#"{"op":"get","key":"k","id":\#(length)}"#, from: client)
            let lines = hub.lines(of: client)
            let old = last.map { #","old":\#($0)"# } ?? ""
            #expect(lines.contains { $0.contains(#""value":\#(value)\#(old),"by""#) })
            #expect(lines.contains { $0.contains(#""id":\#(length)"#) && $0.contains(#""value":\#(value)"#) })
            last = value
        }
    }

    @Test("a key that was deleted takes a value of any length again", arguments: [1, 512, 5000])
    func again(length: Int) {
        let hub = BareHub()
        let client = hub.client()
        hub.take(#"{"op":"publish","key":"k","value":\#(value(200))}"#, from: client)
        hub.take(#"{"op":"delete","key":"k"}"#, from: client)
        hub.take(#"{"op":"publish","key":"k","value":\#(value(length))}"#, from: client)
        hub.take(#"{"op":"get","key":"k","id":1}"#, from: client)
        #expect(hub.lines(of: client).contains { $0.contains(#""value":\#(value(length))"#) })
    }
}
