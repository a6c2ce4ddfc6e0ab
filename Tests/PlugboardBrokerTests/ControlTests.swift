@testable import PlugboardBroker
import PlugboardWire
import TestSupport
import Testing

@Suite("Pausing, stepping and throttling", .computing)
struct ControlTests {
    private let hub = TestHub()
    private let (observer, writer): (Int, Int)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    private func subscribe(_ options: String = "") {
        hub.send(#"{"op":"subscribe","key":"**"\#(options)}"#, from: observer)
        _ = hub.read(observer)
    }

    private func told(_ lines: [String]) -> [String] {
        lines.map { line in
            let key = line.split(separator: #""key":""#).last?.prefix { $0 != "\"" } ?? ""
            let value = line.split(separator: #""value":"#).last?.prefix { $0 != "," && $0 != "}" } ?? ""
            let skipped = number("skipped", in: line).map { "+\($0)" } ?? ""
            return line.contains(#""value""#) ? "\(key)=\(value)\(skipped)" : line
        }
    }

    @Test("a paused one is told nothing until it is resumed, and then the newest")
    func pausing() {
        subscribe()
        hub.send("pause 1", from: observer)
        #expect(hub.read(observer) == [#"{"ok":"pause","sub":1,"owed":0}"#])
        hub.send("publish a 1\npublish a 2\npublish b 1", from: writer)
        #expect(hub.read(observer).isEmpty)
        hub.send("get a", from: observer)
        #expect(hub.read(observer).count == 1)
        hub.send("resume 1", from: observer)
        let lines = hub.read(observer)
        #expect(lines.first == #"{"ok":"resume","sub":1,"owed":2}"#)
        #expect(told(Array(lines.dropFirst())) == ["a=2+1", "b=1"])
        hub.send("publish a 3", from: writer)
        #expect(told(hub.read(observer)) == ["a=3"])
    }

    @Test("a step lets one line pass, or as many as it says, and no more than are owed")
    func stepping() {
        subscribe()
        hub.send("pause 1\nstep 1", from: observer)
        #expect(hub.read(observer).last == #"{"ok":"step","sub":1,"owed":0}"#)
        hub.send("publish a 1\npublish b 1\nemit e 7\npublish c 1\npublish d 1", from: writer)
        hub.send("step 1", from: observer)
        #expect(hub.read(observer).map { told([$0])[0] } == [#"{"ok":"step","sub":1,"owed":5}"#, "a=1"])
        hub.send(#"{"op":"step","sub":1,"count":2}"#, from: observer)
        #expect(told(Array(hub.read(observer).dropFirst())) == ["b=1", "e=7"])
        hub.send(#"{"op":"step","sub":1,"count":1000000}"#, from: observer)
        #expect(told(Array(hub.read(observer).dropFirst())) == ["c=1", "d=1"])
        hub.send("publish a 2", from: writer)
        #expect(hub.read(observer).isEmpty)
    }

    @Test("another client of the same user can be paused and stepped by its number")
    func others() {
        subscribe()
        hub.send(#"{"op":"pause","sub":1,"client":1}"#, from: writer)
        #expect(hub.read(writer) == [#"{"ok":"pause","sub":1,"client":1,"owed":0}"#])
        hub.send("publish a 1\npublish b 1", from: writer)
        #expect(hub.read(observer).isEmpty)
        hub.send(#"{"op":"step","sub":1,"client":1}"#, from: writer)
        #expect(told(hub.read(observer)) == ["a=1"])
        hub.send(#"{"op":"resume","sub":1,"client":1}"#, from: writer)
        #expect(told(hub.read(observer)) == ["b=1"])
    }

    @Test("what one is told when it goes on folds nothing of another, also in the same breath")
    func neighbours() {
        hub.send("subscribe a\nsubscribe b\npause 1\npublish a 1\npublish a 2", from: observer)
        _ = hub.read(observer)
        hub.send("step 1\npublish b 1\npublish b 2\npublish a 3", from: observer)
        hub.send("resume 1\npublish b 3\npublish b 4", from: observer)
        let lines = hub.read(observer).filter { $0.contains(#""event""#) }
        #expect(told(lines) == ["a=2+1", "b=1", "b=2", "a=3", "b=3", "b=4"])
        hub.send(#"{"op":"subscribe","key":"c","every":1000,"initial":false}"#, from: observer)
        hub.send("publish c 1\npublish c 2", from: writer)
        _ = hub.read(observer)
        hub.expireAll(after: 1_001)
        hub.send("publish b 5\npublish b 6", from: writer)
        #expect(told(hub.read(observer)) == ["c=2", "b=5", "b=6"])
    }

    @Test("what can't be paused is answered")
    func refusals() {
        subscribe()
        hub.send("pause 2\nstep 1", from: observer)
        #expect(
            hub.read(observer).map { String($0.prefix(22)) } == [
                #"{"error":"unknown_sub""#, #"{"error":"conflict","l"#,
            ]
        )
        hub.send(#"{"op":"pause","sub":1,"client":9}"#, from: writer)
        #expect(hub.read(writer)[0].hasPrefix(#"{"error":"not_found""#))
        let stranger = hub.client(user: 4_711)
        hub.send(#"{"op":"pause","sub":1,"client":1}"#, from: stranger)
        #expect(hub.read(stranger)[0].hasPrefix(#"{"error":"forbidden""#))
    }

    @Test("all keeps each update while it is paused, latest the newest")
    func all() {
        subscribe(#","delivery":"all""#)
        hub.send("pause 1", from: observer)
        hub.send("publish a 1\npublish a 2\ndelete a\nemit a 4", from: writer)
        hub.send("resume 1", from: observer)
        let lines = Array(hub.read(observer).dropFirst(2))
        #expect(told(lines.filter { $0.contains("value") }) == ["a=1", "a=2", "a=4"])
        #expect(lines.count == 4)
    }

    @Test("past its bound, all drops the newest and says which")
    func allOverflows() {
        subscribe(#","delivery":"all""#)
        hub.send("pause 1", from: observer)
        _ = hub.read(observer)
        let value = "\"" + String(repeating: "v", count: 1_000) + "\""
        for _ in 0..<2_000 { hub.send("publish a \(value)", from: writer) }
        #expect(hub.waitingBytes(observer) <= Limits.queueBytesMax)
        hub.send("resume 1", from: observer)
        let lines = Array(hub.read(observer).dropFirst())
        let dropped = lines.last.flatMap { number("dropped", in: $0) } ?? 0
        #expect(dropped > 0)
        #expect(lines.count - 1 + dropped == 2_000)
        #expect(number("first", in: lines.last ?? "") == lines.count)
        #expect(number("last", in: lines.last ?? "") == 2_000)
        hub.send("publish a 1", from: writer)
        #expect(told(hub.read(observer)) == ["a=1"])
    }

    @Test("every tells a key once in its time, the newest, and the last always")
    func throttled() {
        subscribe(#","every":1000"#)
        hub.send("publish a 1\npublish b 1", from: writer)
        #expect(told(hub.read(observer)) == ["a=1", "b=1"])
        hub.send("publish a 2\npublish a 3\npublish c 1", from: writer)
        // What comes after a key that waits has to wait, too, so the order is kept.
        #expect(hub.read(observer).isEmpty)
        hub.expireAll(after: 500)
        #expect(hub.read(observer).isEmpty)
        hub.expireAll(after: 1_001)
        #expect(told(hub.read(observer)) == ["a=3+1", "c=1"])
        hub.send("publish d 1\npublish a 4", from: writer)
        #expect(told(hub.read(observer)) == ["d=1"])
        hub.expireAll(after: 2_100)
        #expect(told(hub.read(observer)) == ["a=4"])
        for step in 1...4 { hub.expireAll(after: 2_100 + UInt64(step) * 1_100) }
        #expect(hub.deadlineCount == 0)
        hub.send("unsubscribe 1", from: observer)
        #expect(hub.deadlineCount == 0)
    }
}

@Suite("Observers in phases", .computing)
struct PhaseTests {
    private let hub = TestHub()

    private func observer(_ name: String, _ options: String) -> Int {
        let client = hub.client()
        hub.send(
            "hello \(name)\n" + #"{"op":"subscribe","key":"**","initial":false\#(options)}"#,
            from: client
        )
        _ = hub.read(client)
        return client
    }

    @Test("a later phase is told when all of the earlier one have acknowledged")
    func inTurn() {
        let price = observer("price", #","phase":1,"ack":true"#)
        let tax = observer("tax", #","phase":1,"ack":true"#)
        let banner = observer("banner", #","phase":3,"ack":true"#)
        let logger = observer("logger", "")
        let writer = hub.client()
        hub.send("publish a 1", from: writer)
        #expect(hub.read(price).count == 1)
        #expect(hub.read(tax).count == 1)
        #expect(hub.read(banner).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: price)
        #expect(hub.read(banner).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: tax)
        #expect(
            hub.read(banner) == [##"{"event":"update","sub":1,"key":"a","revision":1,"value":1,"by":"#5"}"##]
        )
        #expect(hub.read(logger).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: banner)
        #expect(hub.read(logger).count == 1)
        #expect(hub.deadlineCount == 0)
    }

    @Test("after a second the later phases are told all the same, and who was late")
    func late() {
        let price = observer("price", #","phase":1,"ack":true"#)
        let logger = observer("logger", "")
        hub.send("publish a 1", from: hub.client())
        _ = hub.read(price)
        hub.expireAll(after: 900)
        #expect(hub.read(logger).isEmpty)
        hub.expireAll(after: 1_001)
        #expect(
            hub.read(logger) == [
                ##"{"event":"update","sub":1,"key":"a","revision":1,"value":1,"by":"#3","unacked":["price"]}"##
            ]
        )
        hub.send(#"{"op":"ack","sub":1,"revision":1,"id":1}"#, from: price)
        #expect(hub.read(price) == [#"{"ok":"ack","id":1,"revision":1}"#])
    }

    @Test("with delivery all, each line names who had not acknowledged its revision")
    func lateWithAll() {
        let price = observer("price", #","phase":1,"ack":true"#)
        let logger = observer("logger", #","phase":9,"delivery":"all""#)
        hub.send("publish a 1\npublish a 2\nemit a 0\npublish b 1\ndelete a", from: hub.client())
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: price)
        hub.expireAll(after: 1_001)
        #expect(
            hub.read(logger) == [
                ##"{"event":"update","sub":1,"key":"a","revision":1,"value":1,"by":"#3"}"##,
                ##"{"event":"update","sub":1,"key":"a","revision":2,"value":2,"by":"#3","unacked":["price"]}"##,
                ##"{"event":"emit","sub":1,"key":"a","revision":2,"value":0,"by":"#3"}"##,
                ##"{"event":"update","sub":1,"key":"b","revision":3,"value":1,"by":"#3","unacked":["price"]}"##,
                ##"{"event":"delete","sub":1,"key":"a","revision":4,"by":"#3","unacked":["price"]}"##,
            ]
        )
        hub.send("publish a 5", from: hub.client())
        hub.send(#"{"op":"ack","sub":1,"revision":5}"#, from: price)
        #expect(hub.read(logger).map { $0.contains("unacked") } == [false])
    }

    @Test(
        "all later phases learn who was late, also if a phase between has acknowledged",
        arguments: ["latest", "all"]
    )
    func lateForAllPhases(delivery: String) {
        let price = observer("price", #","phase":1,"ack":true,"delivery":"\#(delivery)""#)
        let banner = observer("banner", #","phase":3,"ack":true,"delivery":"\#(delivery)""#)
        let tax = observer("tax", #","phase":4,"ack":true,"delivery":"\#(delivery)""#)
        let logger = observer("logger", #","phase":5,"delivery":"\#(delivery)""#)
        hub.send("publish a 1", from: hub.client())
        _ = hub.read(price)
        hub.expireAll(after: 1_001)
        #expect(hub.read(banner).map { unacked(in: $0) } == [#"["price"]"#])
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: banner)
        #expect(hub.read(tax).map { unacked(in: $0) } == [#"["price"]"#])
        #expect(hub.read(logger).isEmpty)
        hub.expireAll(after: 2_100)
        #expect(hub.read(logger).map { unacked(in: $0) } == [#"["price","tax"]"#])
        // The next write is another matter.
        hub.send("publish a 2", from: hub.client())
        for observer in [price, banner, tax] {
            #expect(hub.read(observer).last.map { unacked(in: $0) } == "")
            hub.send(#"{"op":"ack","sub":1,"revision":2}"#, from: observer)
        }
        #expect(hub.read(logger).map { unacked(in: $0) } == [""])
        #expect(hub.deadlineCount == 0)
    }

    @Test("a client is named once, and a line that is paused keeps its names")
    func lateTwice() {
        let price = observer("price", #","phase":1,"ack":true"#)
        hub.send(
            #"{"op":"subscribe","key":"a","initial":false,"phase":1,"ack":true}"# + "\n"
                + #"{"op":"subscribe","key":"a","initial":false,"phase":2,"ack":true}"#,
            from: price
        )
        let logger = observer("logger", #","phase":9,"delivery":"all""#)
        hub.send("pause 1", from: logger)
        _ = hub.read(logger)
        let writer = hub.client()
        hub.send("publish a 1", from: writer)
        for second in 1...3 { hub.expireAll(after: UInt64(second) * 1_100) }
        hub.send("publish b 2", from: writer)
        hub.expireAll(after: 5_000)
        hub.send("resume 1", from: logger)
        let names = hub.read(logger).dropFirst().map { unacked(in: $0) }
        #expect(names == [#"["price"]"#, #"["price"]"#])
    }

    private func unacked(in line: String) -> String {
        line.firstMatch(of: #/"unacked":(\[.*?\])/#).map { String($0.output.1) } ?? ""
    }

    @Test("a revision that is still to come can't be acknowledged", arguments: [2, 9_007_199_254_740_991])
    func acknowledgedTooEarly(revision: Int) {
        let price = observer("price", #","phase":1,"ack":true"#)
        let logger = observer("logger", "")
        hub.send(#"{"op":"ack","id":1,"sub":1,"revision":1}"#, from: price)
        let early = #"{"error":"conflict","id":1,"at":38,"revision":0,"#
        #expect(hub.read(price).map { $0.hasPrefix(early) } == [true])
        hub.send("publish a 1", from: hub.client())
        hub.send("ack 1 \(revision)", from: price)
        let late = #""at":6,"revision":1,"message":"revision \#(revision) is"#
        #expect(hub.read(price).last?.contains(late) == true)
        #expect(hub.read(logger).isEmpty)
        hub.send("ack 1 1", from: price)
        #expect(hub.read(logger).count == 1)
    }

    @Test("what an acknowledgement lets pass folds nothing of the same client's others")
    func neighbours() {
        let price = observer("price", #","phase":1,"ack":true"#)
        let logger = hub.client()
        hub.send("subscribe a\nsubscribe b", from: logger)
        let writer = hub.client()
        hub.send("publish a 1", from: writer)
        _ = (hub.read(price), hub.read(logger))
        hub.send("ack 1 1\nunsubscribe 1\npublish b 1\npublish b 2", from: price)
        let lines = hub.read(logger)
        #expect(lines.count == 3 && !lines.contains { $0.contains("skipped") }, "\(lines)")
    }

    @Test("an observer that leaves is waited for no longer, nor is one that unsubscribes")
    func leaving() {
        let logger = observer("logger", "")
        let writer = hub.client()
        for leave in [true, false] {
            let price = observer("price", #","phase":1,"ack":true"#)
            hub.send("publish a 1\ndelete a", from: writer)
            #expect(hub.read(logger).isEmpty)
            if leave { hub.leave(price) } else { hub.send("unsubscribe 1", from: price) }
            #expect(hub.read(logger).count == 1)
        }
        #expect(hub.deadlineCount == 0)
        #expect(hub.keyCount == 0)
    }

    @Test("an observer that can't send any more is waited for no longer, but told all the same")
    func mute() {
        let price = observer("price", #","phase":1,"ack":true"#)
        let logger = observer("logger", "")
        let writer = hub.client()
        hub.send("publish a 1\npublish b 1", from: writer)
        #expect(hub.read(logger).isEmpty)
        hub.endInput(price)
        #expect(hub.read(logger).map { unacked(in: $0) } == ["", ""])
        hub.send("publish a 2", from: writer)
        #expect(hub.read(logger).map { unacked(in: $0) } == [""])
        #expect(hub.read(price).count == 3)
        #expect(hub.deadlineCount == 0)
    }

    @Test("one that leaves is not told what its own leaving sets free")
    func leavingOneself() {
        let client = observer("both", #","phase":1,"ack":true"#)
        hub.send(#"{"op":"subscribe","key":"**","initial":false,"phase":7}"#, from: client)
        _ = hub.read(client)
        hub.send("publish a 1", from: hub.client())
        _ = hub.read(client)
        hub.leave(client)
    }

    @Test("writes that go on are folded for the later phase; no line of it overtakes another")
    func folded() {
        let price = observer("price", #","phase":0,"ack":true"#)
        let logger = observer("logger", #","phase":9"#)
        let writer = hub.client()
        hub.send("publish a 1\npublish a 2\npublish b 1\nemit e 1", from: writer)
        #expect(hub.read(price).count == 4)
        #expect(hub.read(logger).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":2}"#, from: price)
        #expect(hub.read(logger).map { number("revision", in: $0) } == [2])
        hub.send(#"{"op":"ack","sub":1,"revision":3}"#, from: price)
        #expect(hub.read(logger).count == 2)
    }

    @Test("a newer write that an earlier phase did not ask for waits for what that was told before")
    func filteredMeanwhile() {
        let price = observer("price", #","phase":1,"ack":true,"fields":["/price"]"#)
        let logger = observer("logger", #","phase":9"#)
        let writer = hub.client()
        hub.send(#"publish a {"price":1}"# + "\n" + #"publish a {"price":1,"stock":2}"#, from: writer)
        #expect(hub.read(price).count == 1)
        #expect(hub.read(logger).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: price)
        #expect(hub.read(logger).map { number("revision", in: $0) } == [2])
        #expect(hub.deadlineCount == 0)
    }

    @Test("a phase that has acknowledged all it was told is not waited for again")
    func filteredAfterwards() {
        let price = observer("price", #","phase":1,"ack":true,"fields":["/price"]"#)
        let stock = observer("stock", #","phase":3,"ack":true"#)
        let logger = observer("logger", #","phase":9"#)
        let writer = hub.client()
        hub.send(#"publish a {"price":1}"#, from: writer)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: price)
        #expect(hub.read(stock).count == 1)
        hub.send(#"publish a {"price":1,"stock":2}"#, from: writer)
        #expect(hub.read(stock).map { number("revision", in: $0) } == [2])
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: stock)
        #expect(hub.read(logger).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":2}"#, from: stock)
        #expect(hub.read(logger).map { number("revision", in: $0) } == [2])
        #expect(hub.deadlineCount == 0)
    }

    @Test("nothing passes an observer that has yet to acknowledge what it was told before")
    func unacknowledgedBefore() {
        let price = observer("price", #","phase":1,"ack":true,"fields":["/price"]"#)
        let stock = observer("stock", #","phase":3,"ack":true,"fields":["/stock"]"#)
        let logger = observer("logger", #","phase":9,"delivery":"all""#)
        let writer = hub.client()
        hub.send(#"publish a {"price":1,"stock":1}"#, from: writer)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: price)
        #expect(hub.read(stock).count == 1)
        hub.send(#"publish a {"price":2,"stock":1}"#, from: writer)
        hub.send(#"{"op":"ack","sub":1,"revision":2}"#, from: price)
        #expect(hub.read(stock).isEmpty)
        #expect(hub.read(logger).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: stock)
        #expect(hub.read(logger).map { number("revision", in: $0) } == [1, 2])
        #expect(hub.deadlineCount == 0)
    }

    @Test("who let its time pass holds up no write that it isn't told of")
    func lateBefore() {
        let price = observer("price", #","phase":1,"ack":true,"fields":["/price"]"#)
        let stock = observer("stock", #","phase":3,"ack":true,"fields":["/stock"]"#)
        let logger = observer("logger", #","phase":9"#)
        let writer = hub.client()
        hub.send(#"publish a {"price":1,"stock":1}"#, from: writer)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: price)
        #expect(hub.read(stock).count == 1)
        hub.expireAll(after: 1_001)
        #expect(hub.read(logger).count == 1)
        hub.send(#"publish a {"price":2,"stock":1}"#, from: writer)
        hub.send(#"{"op":"ack","sub":1,"revision":2}"#, from: price)
        #expect(hub.read(logger).map { number("revision", in: $0) } == [2])
        #expect(hub.deadlineCount == 0)
    }

    @Test("who waits for lines of other keys is not waited for")
    func otherKeysQueued() {
        let price = observer("price", #","phase":1,"ack":true"#)
        let few = observer("few", #","phase":3,"ack":true,"delivery":"all","where":{"/p":{"<":5}}"#)
        let logger = observer("logger", #","phase":9"#)
        hub.send(#"publish a {"p":9}"# + "\n" + #"publish b {"p":1}"#, from: hub.client())
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: price)
        #expect(hub.read(few).isEmpty)
        #expect(hub.read(logger).map { number("revision", in: $0) } == [1])
        hub.send(#"{"op":"ack","sub":1,"revision":2}"#, from: price)
        #expect(hub.read(few).count == 1)
        #expect(hub.read(logger).isEmpty)
    }

    @Test("who does not acknowledge can't; without acknowledgers phases only order")
    func plain() {
        let late = observer("late", #","phase":9"#)
        let early = observer("early", #","phase":0"#)
        hub.send("publish a 1", from: hub.client())
        #expect(hub.read(late).count == 1)
        #expect(hub.read(early).count == 1)
        hub.send(#"{"op":"ack","sub":1,"revision":1}"#, from: late)
        #expect(hub.read(late)[0].hasPrefix(#"{"error":"conflict""#))
    }
}
