// Subscriptions that ask for less than every complete value: conditions, parts,
// differences.

import Observables
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("asking for less", .someAtATime)
struct AskingForLessTests {
    @Test("where tells the values that match, and sends a leave when one no longer does")
    func conditions() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let heard = Log<String>()
        let options = SubscribeOptions(
            initial: false,
            where: [
                Part("/price") >= 50, Part("/price") < 100, Part("/brand").isOne(of: ["Nokia", "Siemens"]),
            ]
        )
        let observation = try await bus.subscribe("phone.*", options: options) { event in
            heard.add("\(event.kind) \(event.value?["price"]?.text ?? "-")")
        }
        for price in ["120", "99.90", "50.0", "49.99", "60", "100"] {
            try await bus.publish("phone.1", JSON(#"{"brand":"Nokia","price":\#(price)}"#))
        }
        try await bus.publish("phone.2", JSON(#"{"brand":"Acme","price":60}"#))
        #expect(heard.all == ["update 99.90", "update 50.0", "leave -", "update 60", "leave -"])
        observation.dispose()
    }

    @Test("each comparison is spelled as in the protocol")
    func comparisons() {
        let conditions = [
            Part("/a") == 1, Part("/a") != 2.5, Part("/b") <= "x", Part("/b") > "a\"", Part.whole == true,
            Part("/c").exists, Part("/d").isAbsent, Part("/e").hasPrefix("é"), Part("/f") == JSON.null,
            Part("/g") >= ExactDecimal(7), Part("/h").isOne(of: [1, 2]), Part("/i") < Double.infinity,
        ]
        #expect(
            JSON.conditions(conditions).text
                == #"{"/a":{"==":1,"!=":2.5},"/b":{"<=":"x",">":"a\""},"":{"==":true},"#
                + #""/c":{"exists":true},"/d":{"exists":false},"/e":{"prefix":"é"},"/f":{"==":null},"#
                + #""/g":{">=":7},"/h":{"in":[1,2]},"/i":{"<":null}}"#
        )
    }

    @Test("fields tells the parts that changed, and those that are gone")
    func fields() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("phone", JSON(#"{"name":"3310","price":129.00,"stock":{"de":4}}"#))
        let heard = Log<Event>()
        let options = SubscribeOptions(fields: ["/price", "/stock/de"])
        let observation = try await bus.subscribe("phone", options: options) { heard.add($0) }
        try await bus.patch("phone", ["name": "Nokia 3310"])
        try await bus.patch("phone", JSON(#"{"price":99.00}"#))
        try await bus.patch("phone", JSON(#"{"stock":null}"#))
        let updates = heard.all.filter { $0.kind == .update }
        #expect(
            updates.map { $0.fields.mapValues(\.text) } == [
                ["/price": "129.00", "/stock/de": "4"], ["/price": "99.00"], [:],
            ]
        )
        #expect(updates.map(\.gone) == [[], [], ["/stock/de"]])
        #expect(updates.allSatisfy { $0.value == nil })
        observation.dispose()
    }

    @Test("under diff every update has the complete value, and the difference if the broker sent one")
    func differences() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let heard = Log<String>()
        let observation = try await bus.subscribe("*", options: SubscribeOptions(diff: true)) { event in
            guard event.kind != .synced else { return }
            heard.add("\(event.kind) \(event.value?.text ?? "-") \(event.patch?.text ?? "-")")
        }
        let first = #"{"items":[1,2],"note":"gift","total":12.50}"#
        try await bus.publish("cart", JSON(first))
        try await bus.publish("cart", JSON(#"{"items":[1,2],"total":10.00}"#))
        try await bus.emit("cart", JSON(#"{"bell":1}"#))
        try await bus.publish("other", JSON(#"{"items":[3],"total":1.00}"#))
        try await bus.patch("cart", JSON(#"{"total":{"net":null}}"#))
        try await bus.publish("cart", JSON("[1]"))
        try await bus.publish("cart", JSON(first))
        try await bus.delete("cart")
        try await bus.publish("cart", JSON(first))
        try await bus.patch("cart", JSON(#"{"total":0.50}"#))
        #expect(
            heard.all == [
                "update \(first) -",
                #"update {"items":[1,2],"total":10.00} {"total":10.00,"note":null}"#,
                #"emit {"bell":1} -"#,
                #"update {"items":[3],"total":1.00} -"#,
                #"update {"items":[1,2],"total":{}} {"total":{}}"#,
                "update [1] -", "update \(first) -", "delete - -", "update \(first) -",
                #"update {"items":[1,2],"note":"gift","total":0.50} {"total":0.50}"#,
            ]
        )
        observation.dispose()
    }

    @Test("under diff a slow loop and a loop that meets a new broker have complete values as well")
    func differencesLater() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let subscription = try await bus.subscribe("k", options: SubscribeOptions(initial: false, diff: true))
        try await subscription.pause()
        func value(_ number: Int) throws -> JSON {
            try JSON(#"{"text":"long enough for a difference","n":\#(number)}"#)
        }
        var last = 0
        for number in 1...5 { last = try await bus.publish("k", value(number)) }
        try await subscription.resume()
        try await bus.publish("k", value(6))
        try await bus.sync()
        try await broker.stop()
        try await eventually("it notices") { !bus.state.isConnected }
        try await broker.start()
        try await eventually("it is back") { bus.state.isConnected }
        for number in 7...8 { try await bus.publish("k", value(number)) }
        var told: [String] = []
        for try await event in subscription {
            told.append("\(event.value?["n"]?.text ?? "-") \(event.patch?.text ?? "-") \(event.skipped)")
            if told.count == 4 { break }
        }
        #expect(last == 5)
        #expect(told == ["5 - 4", #"6 {"n":6} 0"#, "7 - 0", #"8 {"n":8} 0"#])
    }

    @Test("without the previous value, a difference has no value rather than a wrong one")
    func orphan() async throws {
        let fake = try FakeBroker { peer in
            try peer.send(FakeBroker.greeting())
            try peer.answerSubscribe(snapshot: [])
            try peer.send(#"{"event":"update","sub":1,"key":"k","revision":3,"patch":{"a":1},"by":"x"}"#)
            try peer.drain()
        }
        let bus = try await fake.connect()
        var events = try await bus.subscribe("*", options: SubscribeOptions(diff: true)).makeAsyncIterator()
        let event = try #require(try await events.next())
        #expect(event.value == nil)
        #expect(event.patch?.text == #"{"a":1}"#)
        bus.close()
    }

    @Test("two options that both decide what a line carries are refused")
    func contradiction() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let contradictions = [
            SubscribeOptions(values: false, diff: true), SubscribeOptions(values: false, fields: ["/a"]),
            SubscribeOptions(fields: ["/a"], diff: true),
        ]
        for options in contradictions {
            let error = await #expect(throws: BusError.self) {
                try await bus.subscribe("k", options: options)
            }
            #expect(error?.code == "duplicate_field")
        }
    }
}
