import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

/// Observers whose filters are spelled alike share the evaluation of an event. Each of them must get
/// exactly what it would get alone.
@Suite("Observers with the same filter", .computing)
struct SharedFilterTests {
    private static let filters = [
        #""where":{"/a":{"<":5}}"#,
        #""where":{"/a":{"<":5}}"#,
        #""where":{"/a":{"<":6}}"#,
        #""where":{"/a":{"<":5}}"#,
        #""fields":["/a"]"#,
        #""fields":["/a"],"old":true"#,
        #""fields":["/b"]"#,
        #""diff":true"#,
        #""diff":true,"initial":false"#,
        #""diff":true"#,
        #""diff":true,"where":{"/a":{"<":5}}"#,
        #""where":{"/a":{"<":5}},"delivery":"all""#,
        #""diff":true"#,
    ]
    private static let stopping = [1, 5, 9, 11]

    @Test("are each told what one of them alone would be", arguments: 1...8)
    func alone(_ seed: UInt64) {
        let crowd = Self.history(seed, of: Array(Self.filters.indices))
        for index in Self.filters.indices {
            #expect(crowd[index].count > 10, "\(Self.filters[index]) is told something")
            #expect(Self.history(seed, of: [index])[index] == crowd[index], "\(Self.filters[index])")
        }
    }

    /// The lines of all observers. Some of them stop reading for a while.
    private static func history(_ seed: UInt64, of subscribing: [Int]) -> [[String]] {
        var random = SeededRandom(seed: seed)
        let hub = TestHub()
        let clients = filters.map { _ in hub.client() }
        let writer = hub.client()
        hub.send(#"publish k.0 {"a":1,"b":[1]}"#, from: writer)
        for index in subscribing {
            hub.send(#"{"op":"subscribe","key":"k.*",\#(filters[index])}"#, from: clients[index])
        }
        var told = clients.map { hub.read($0) }
        for step in 0..<60 {
            if step == 20 { for index in stopping { hub.stopReading(clients[index]) } }
            let isStopped = (20..<40).contains(step)
            hub.send(write(&random), from: writer)
            for index in clients.indices where !(isStopped && stopping.contains(index)) {
                told[index] += hub.read(clients[index])
            }
        }
        return told
    }

    private static func write(_ random: inout SeededRandom) -> String {
        let key = "k.\(Int.random(in: 0..<3, using: &random))"
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return "delete \(key)"
        case 1: return #"emit \#(key) {"a":\#(Int.random(in: 0..<9, using: &random))}"#
        default:
            let (a, b) = (Int.random(in: 0..<9, using: &random), Int.random(in: 0..<3, using: &random))
            return #"publish \#(key) {"a":\#(a),"b":[\#(b)],"c":"the same"}"#
        }
    }
}
