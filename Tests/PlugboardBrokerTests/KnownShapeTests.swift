// Filters remember where their parts are in the last value, and those that are spelled alike share what was found out
// about an event. Whoever observes must not notice.

import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Filters that know the last value", .computing)
struct KnownShapeTests {
    private static let filters = [
        #""where":{"/price":{"<":55}}"#, #""where":{"/price":{"<":55}}"#, #""where":{"/price":{"<":56}}"#,
        #""where":{"/price":{"<":55},"/n":{">":30}},"old":true"#,
        #""where":{"/s":{"==":"a text 5"},"/price":{">=":20},"/n":{"!=":50},"/x":{"exists":false}}"#,
        #""where":{"/a":{"<":5},"/b":{"<":5},"/c":{"<":5},"/n":{"<":500},"/price":{"<":50}}"#,
        #""fields":["/n"]"#, #""fields":["/n"],"old":true"#,
        #""fields":["/n","/price"],"where":{"/price":{"<":60}}"#,
        #""fields":["/n","/o/p","/none"]"#,
        #""fields":["/a","/b","/c","/n","/price"]"#,
        #""diff":true"#, #""diff":true"#,
        #""diff":true,"where":{"/price":{"<":60}}"#,
        #""diff":true,"initial":false"#,
        #""diff":true,"where":{"/price":{"<":60}},"delivery":"all""#,
        #""where":{"/price":{"<":55}},"values":false"#,
    ]

    /// A hub with an observer for each of some filters.
    private final class Crowd {
        let hub = TestHub()
        let writer: SessionHandle
        /// By the numbers of their filters.
        private(set) var observers: [Int: SessionHandle] = [:]

        init(_ filters: some Sequence<Int>) {
            writer = hub.client()
            for filter in filters {
                let observer = hub.client()
                observers[filter] = observer
                hub.send(
                    #"{"op":"subscribe","key":"k.*",\#(KnownShapeTests.filters[filter])}"#, from: observer)
            }
        }

        func told(_ filter: Int) -> [String] { observers[filter].map(hub.read) ?? [] }

        /// How much filters have cost.
        var steps: UInt64 { hub.hub.delivery.judge.steps }
    }

    /// A random value. Most have the same shape.
    private func value(_ random: inout SeededRandom) -> String {
        let (n, price) = (random.below(90) + 10, random.oneIn(4) ? random.below(10) : random.below(90) + 10)
        let name = random.oneIn(12) ? "k\(random.below(3))" : "k1"
        let length = random.oneIn(12) ? random.below(90) * 1_000 : n
        return
            #"{"\#(name)":"some\#(random.oneIn(4) ? " longer" : "") text","price":\#(price).5\#(random.below(9)),"s":"a text \#(random.below(9))","#
            + #""o":{"p":\#(random.below(3)),"q":1},"n":\#(length)}"#
    }

    private func write(_ keys: Int, _ random: inout SeededRandom) -> String {
        let key = "k.\(random.below(keys))"
        switch random.below(16) {
        case 0: return "delete \(key)"
        case 1: return "emit \(key) \(value(&random))"
        case 2, 3:
            let writes = (0..<keys).map { #"{"op":"publish","key":"k.\#($0)","value":\#(value(&random))}"# }
            return #"{"op":"batch","writes":[\#(writes.joined(separator: ","))]}"#
        case 4: return #"{"op":"patch","key":"\#(key)","value":{"n":\#(random.below(90) + 10)}}"#
        case 5: return #"{"op":"add","key":"\#(key)","field":"/n","value":1}"#
        default: return "publish \(key) \(value(&random))"
        }
    }

    /// Plays the same history to a crowd, to one whose filters forget what they know before each write, and to each
    /// filter by itself.
    @Test("tell what filters tell that know nothing, or are alone", arguments: [1, 3, 12])
    func same(keys: Int) {
        var random = SeededRandom(seed: UInt64(keys))
        let every = Self.filters.indices
        let (knowing, forgetting, alone) = (Crowd(every), Crowd(every), every.map { Crowd([$0]) })
        for step in 0..<200 {
            let line = write(keys, &random)
            let stopping = step % 40 == 10 ? random.below(Self.filters.count) : nil
            for crowd in [knowing, forgetting] + alone {
                if crowd === forgetting { crowd.hub.hub.delivery.judge.shapes = KnownShapes() }
                if let observer = stopping.flatMap({ crowd.observers[$0] }) {
                    crowd.hub.stopReading(observer)
                }
                crowd.hub.send(line, from: crowd.writer)
                _ = crowd.hub.read(crowd.writer)
            }
            // Those that have stopped read on a while later.
            guard step % 40 < 10 || step % 40 > 20 else { continue }
            for filter in every {
                let told = [knowing, forgetting, alone[filter]].map { $0.told(filter) }
                #expect(told[0] == told[1] && told[0] == told[2], "\(step), \(filter): \(line)")
            }
        }
        #expect(knowing.steps < forgetting.steps, "what is known costs less")
    }

    @Test("a wrong verdict or a wrong place of the present value is found between two turns")
    func mistakes() throws {
        let hub = TestHub()
        let (client, observer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"k","where":{"/price":{"<":50}}}"#, from: observer)
        for price in [10, 20, 30] {
            hub.send(#"publish k {"name":"some text","price":\#(price),"n":1000}"#, from: client)
        }
        let known = try #require(hub.hub.delivery.judge.shapes.known.last)
        #expect(known.revision == 3 && hub.brokenInvariant() == nil)
        let writer = hub.hub.keyspace.writer(of: known.observable)
        let author = try #require(writer)
        for (value, sentence) in [
            (
                #"{"name":"some text","price":90,"n":1000}"#,
                "it is known whether the value meets its conditions"
            ),
            (#"{"name":"a text","price":30,"n":1000000}"#, "it is known where the parts are"),
        ] {
            withBytes(value) {
                _ = hub.hub.keyspace.set(known.observable, $0, cause: .none, writer: author)
                hub.hub.keyspace[known.observable].revision = 3
            }
            hub.hub.keyspace.endTurn()
            let broken = hub.brokenInvariant()
            #expect(broken?.structure == "Filter" && broken?.sentence.hasPrefix(sentence) == true)
        }
    }

    @Test("to compare long parts costs more than to compare short ones", arguments: ["/text", "/n"])
    func costs(pointer: String) {
        let hub = TestHub()
        let (writer, observer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"k","fields":["\#(pointer)"]}"#, from: observer)
        let text = String.filler("x", 160_000)
        var steps: [UInt64] = []
        for number in 10..<14 {
            hub.send(#"publish k {"text":"\#(text)","n":\#(number)}"#, from: writer)
            _ = hub.read(observer)
            steps.append(hub.hub.delivery.judge.steps)
        }
        #expect(steps[3] - steps[2] == UInt64(Filter.stepsMin + (pointer == "/n" ? 0 : 160_002 / 16)))
    }

    private func update(_ subscription: UInt64, before: UInt64 = 1) -> JudgedUpdate {
        let observable = ObservableHandle(word: 1 << 32 | 7)
        return JudgedUpdate(
            subscription: subscription, observable: observable, before: before, revision: before + 1
        )
    }

    private func learn(_ subscription: UInt64, _ shapes: inout KnownShapes) -> Bool {
        guard let place = shapes.placeToLearn(update(subscription)) else { return false }
        shapes.all[place].moveOn(update(subscription), isIn: true)
        return true
    }

    @Test("there are more places as more is known, up to the limit; then what has one in vain is forgotten")
    func places() {
        var shapes = KnownShapes()
        let isNothing = shapes.find(update(1)) == nil
        #expect(isNothing && shapes.all.isEmpty, "who has no filter needs no memory")
        var next: UInt64 = 1
        while shapes.all.count < KnownShapes.placesMax {
            _ = learn(next, &shapes)
            next += 1
        }
        // The first one from here on that finds no place.
        while learn(next, &shapes) { next += 1 }
        let tries = (0..<9).map { _ in learn(next, &shapes) }
        #expect(tries.firstIndex(of: true) == 7 && shapes.all.count == KnownShapes.placesMax)
        let place = shapes.find(update(next, before: 2))
        #expect(place != nil)
    }
}
