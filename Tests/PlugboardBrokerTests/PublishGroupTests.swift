// Publishes that follow each other are read together and made one after the other. No client may notice.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Publishes in a row", .computing)
struct PublishGroupTests {
    /// What a writer and an observer of everything get if lines come together or one by one.
    private func told(_ lines: [String], together: Bool) -> [[String]] {
        let hub = TestHub()
        let (writer, observer) = (hub.client(), hub.client())
        hub.tell(#"{"op":"subscribe","key":"**"}"#, from: observer)
        if together {
            hub.takeTogether(lines, from: writer)
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
        let hub = TestHub()
        let writer = hub.client()
        hub.tell(#"{"op":"subscribe","key":"a","sub":"s"}"#, from: writer)
        hub.hub.sessions[writer].isBehind = true
        let lines = [
            #"{"op":"publish","key":"b","value":1,"id":1}"#, #"{"op":"unsubscribe","sub":"s","id":2}"#,
        ]
        hub.takeTogether(lines, from: writer)
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
        let hub = TestHub()
        let groups = (lines.count + PublishGroup.publishesMax - 1) / PublishGroup.publishesMax
        // The first and the last of a group are read as any.
        #expect(hub.takeTogether(lines, from: hub.client()) >= lines.count - 2 * groups)
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
}
