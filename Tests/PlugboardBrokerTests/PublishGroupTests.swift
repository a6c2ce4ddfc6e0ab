// Publishes that follow each other are read together and made one after the other. No client may notice.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Publishes in a row", .computing)
struct PublishGroupTests {
    /// What a writer and an observer of everything get if lines come together or one by one.
    private func told(_ lines: [String], together: Bool) -> [[String]] {
        let hub = BareHub()
        let (writer, observer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"**"}"#, from: observer)
        if together {
            hub.sendTogether(lines, from: writer)
        } else {
            for line in lines { hub.take(line, from: writer) }
        }
        return [hub.lines(of: writer), hub.lines(of: observer)]
    }

    private func expectSame(_ lines: [String]) {
        #expect(told(lines, together: true) == told(lines, together: false))
    }

    @Test(
        "as many as a group holds, one fewer and one more are told in their order", arguments: [-1, 0, 1, 20]
    )
    func sizes(more: Int) {
        let lines = (0..<(PublishGroup.publishesMax + more)).map {
            #"{"op":"publish","key":"k\#($0 % 5)","value":\#($0)}"#
        }
        expectSame(lines)
        let revisions = told(lines, together: true)[1].filter { $0.contains(#""event":"update""#) }
        #expect(revisions.count == lines.count)
    }

    @Test("a line after a publish whose reply has to wait isn't executed before that reply")
    func held() {
        let hub = BareHub()
        let writer = hub.client()
        hub.send(#"{"op":"subscribe","key":"a","sub":"s"}"#, from: writer)
        hub.hub.sessions[writer].isBehind = true
        let lines = [
            #"{"op":"publish","key":"b","value":1,"id":1}"#, #"{"op":"unsubscribe","sub":"s","id":2}"#,
        ]
        hub.sendTogether(lines, from: writer)
        #expect(hub.hub.sessions[writer].isHeld && hub.hub.sessions[writer].subscriptions.count == 1)
        #expect(hub.hub.requests.group.leftOver.take() == LeftOver(start: lines[0].utf8.count + 1, number: 3))
        #expect(hub.lines(of: writer).isEmpty)
    }

    @Test(
        "lines with other digits than the one before them are told as any, with few keys and with many",
        arguments: [1, Keyspace.cachedMax, Keyspace.cachedMax + 1, 900]
    )
    func repeated(keys: Int) {
        let lines = (0..<1_000).map {
            #"{"op":"publish","id":\#(1_000 + $0),"key":"k.\#(1_000 + $0 * 7 % keys)","value":{"n":\#(10_000 + $0 * 37)}}"#
        }
        expectSame(lines)
        let hub = BareHub()
        let groups = (lines.count + PublishGroup.publishesMax - 1) / PublishGroup.publishesMax
        // The first and the last of a group are read as any.
        #expect(hub.sendTogether(lines, from: hub.client()) >= lines.count - 2 * groups)
    }

    @Test("keys made and let go of within a group are found where they are by then")
    func changing() {
        var lines: [String] = []
        for number in 0..<600 {
            let key = "k\(number * 7 % 40)"
            lines.append(#"{"op":"publish","key":"\#(key)","value":\#(number)}"#)
            if number % 9 == 0 { lines.append(#"{"op":"delete","key":"\#(key)"}"#) }
        }
        expectSame(lines)
    }

    @Test("keys published in the order in which they were made are foretold, until the order changes")
    func inTurn() {
        let hub = BareHub()
        let (writer, observer) = (hub.client(), hub.client())
        hub.send(#"{"op":"subscribe","key":"k.*"}"#, from: observer)
        func publish(_ keys: [Int]) {
            let lines = keys.map { #"{"op":"publish","key":"k.\#($0)","value":\#($0 * 7)}"# }
            hub.sendTogether(lines, from: writer)
            let told = hub.lines(of: observer).filter { $0.contains(#""event":"update""#) }
            #expect(told.count == keys.count)
            for (line, key) in zip(told, keys) {
                #expect(line.contains(#""key":"k.\#(key)","#) && line.contains(#""value":\#(key * 7),"#))
            }
        }
        for _ in 0..<3 { publish(Array(0..<300)) }
        #expect(hub.hub.requests.group.forecast.isReliable)
        publish(Array(0..<60))
        #expect(!hub.hub.requests.group.forecast.isReliable, "it isn't so long since the last key")
        publish(Array(60..<100))
        #expect(hub.hub.requests.group.forecast.isReliable)
        // Others take the places of some keys, and the order breaks within a group.
        for key in [110, 111, 120] { hub.send(#"{"op":"delete","key":"k.\#(key)"}"#, from: writer) }
        for key in 0..<3 { hub.send(#"{"op":"publish","key":"other\#(key)","value":1}"#, from: writer) }
        _ = hub.lines(of: observer)
        publish(Array(100..<150) + [7, 3, 299, 299, 299] + Array(200..<290))
        #expect(hub.hub.requests.group.forecast.isReliable)
        publish([290, 5, 291])
        #expect(!hub.hub.requests.group.forecast.isReliable)
        publish(Array(0..<100))
        #expect(hub.hub.requests.group.forecast.isReliable)
        hub.send(#"{"op":"publish","key":"k.100","value":700}"#, from: hub.client())
        #expect(!hub.hub.requests.group.forecast.isReliable, "another client has an order of its own")
    }
}

@Suite("Slots that are foretold", .computing)
struct SlotForecastTests {
    private func forecast(after slots: [UInt32]) -> SlotForecast {
        var forecast = SlotForecast()
        for slot in slots { forecast.learn(slot) }
        return forecast
    }

    @Test(
        "the next slot is as far from the last as that is from the one before, past either end, too",
        arguments: [
            ([100, 100, 100], 100), ([100, 101, 102], 103), ([100, 103, 106], 109), ([9, 8, 7], 6),
            ([2, 1, 0], .max), ([.max - 2, .max - 1, .max], 0),
            // Without a rule nothing is probable.
            ([], 0), ([7], 0), ([7, 9], 0), ([7, 9, 11, 14], 0),
        ] as [([UInt32], UInt32)]
    )
    func probable(slots: [UInt32], next: UInt32) {
        #expect(forecast(after: slots).probable == next)
    }

    @Test("it is reliable after as many slots as a group has publishes, and not after one fewer")
    func reliable() {
        let slots = (0..<UInt32(SlotForecast.reliableMin + 2)).map { 50 + $0 }
        #expect(
            forecast(after: slots).isReliable && forecast(after: slots).next == slots[0] + UInt32(slots.count)
        )
        #expect(!forecast(after: slots.dropLast()).isReliable)
        #expect(!forecast(after: slots + [50]).isReliable)
    }
}
