import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("Observers that ask for less", .computing)
struct FilterTests {
    private let hub = TestHub()
    private let (observer, writer): (Int, Int)

    init() { (observer, writer) = (hub.client(), hub.client()) }

    private func subscribe(_ options: String, key: String = "**") -> [String] {
        hub.send(#"{"op":"subscribe","key":"\#(key)",\#(options)}"#, from: observer)
        return Array(hub.read(observer).dropFirst())
    }

    private func told(_ writes: String) -> [String] {
        hub.send(writes, from: writer)
        return hub.read(observer).map(Self.short)
    }

    /// A line without the members that all lines have.
    private static func short(_ line: String) -> String {
        var line = line
        for common in [#"{"event":"#, #""sub":1,"#, ##","by":"#2""##, "}"] where line.contains(common) {
            guard let range = line.firstRange(of: common) else { continue }
            if common != "}" || line.hasSuffix("}") {
                if common == "}" { line.removeLast() } else { line.removeSubrange(range) }
            }
        }
        return line
    }

    @Test("where: values that match are told, then that one doesn't any more, then nothing")
    func matching() {
        _ = subscribe(#""where":{"/price":{"<":100}}"#)
        #expect(told(#"publish a {"price":120}"#) == [])
        #expect(
            told(#"publish a {"price":90}"#) == [#""update","key":"a","revision":2,"value":{"price":90}"#]
        )
        #expect(
            told(#"publish a {"price":80}"#) == [#""update","key":"a","revision":3,"value":{"price":80}"#]
        )
        #expect(told(#"publish a {"price":100}"#) == [#""leave","key":"a","revision":4"#])
        #expect(told(#"publish a {"price":101}"#) == [])
        #expect(told("delete a") == [])
        #expect(told("publish b {\"price\":1}\ndelete b").last == #""delete","key":"b","revision":8"#)
        #expect(told("emit b {\"price\":100}\nemit b {\"price\":1}\nemit b 2").count == 1)
    }

    @Test("where: what is told is the value, also where a patch would be shorter")
    func wholeValues() {
        let rest = #""rest":"what stays as it was, and is long""#
        _ = subscribe(#""where":{"/n":{">":0}}"#)
        _ = told(#"publish a {"n":1,\#(rest)}"#)
        #expect(told(#"publish a {"n":2,\#(rest)}"#).first?.contains(#""value":{"n":2,\#(rest)"#) == true)
    }

    @Test("where: a snapshot has what matches, and synced comes even where nothing does")
    func matchingSnapshot() {
        hub.send("publish a 1\npublish b 2\npublish c 3", from: writer)
        let lines = subscribe(#""where":{"":{">":1}}"#)
        #expect(lines.count == 3)
        #expect(lines.last == #"{"event":"synced","sub":1,"revision":3}"#)
        hub.send("unsubscribe 1", from: observer)
        _ = hub.read(observer)
        let none = subscribe(#""where":{"":{">":3}}"#)
        #expect(none == [#"{"event":"synced","sub":1,"revision":3}"#])
    }

    @Test("where: with old, a leave has the value that matched; without values, an update has none")
    func matchingForms() {
        _ = subscribe(#""where":{"":{">":1}},"old":true,"values":false"#)
        #expect(
            told("publish a 2\npublish a 1") == [
                #""update","key":"a","revision":1"#, #""leave","key":"a","revision":2,"old":2"#,
            ]
        )
    }

    @Test("where: one that is behind is told how what it knew stands to what is there")
    func matchingBehind() {
        hub.send("publish a 2\npublish b 2\npublish c 1\npublish d 2\npublish e 2", from: writer)
        _ = subscribe(#""where":{"":{">":1}}"#)
        hub.stopReading(observer)
        // a leaves, b leaves and comes back, c never matched, d is deleted while it matches, e while it
        // doesn't.
        let writes = [
            "publish a 3", "publish a 0", "publish b 0", "publish b 4", "publish c 0", "publish c 5",
            "publish c 1", "publish d 3", "delete d", "publish e 1", "delete e", "publish f 0",
        ]
        #expect(
            told(writes.joined(separator: "\n")) == [
                #""leave","key":"a","revision":7,"skipped":1"#,
                #""update","key":"b","revision":9,"value":4,"skipped":1"#,
                #""delete","key":"d","revision":14,"skipped":1"#,
                #""delete","key":"e","revision":16,"skipped":1"#,
            ]
        )
        #expect(!hub.hasCatchup(observer))
    }

    @Test("what matches neither before nor after is not owed; a step passes over what need not be told")
    func steps() {
        _ = subscribe(#""where":{"":{">":1}}"#)
        hub.send("pause 1", from: observer)
        hub.send("publish a 1\npublish b 2\npublish b 0\npublish c 3\npublish d 4", from: writer)
        _ = hub.read(observer)
        hub.send("step 1", from: observer)
        let lines = hub.read(observer)
        #expect(lines.first == #"{"ok":"step","sub":1,"owed":3}"#)
        #expect(lines.count == 2)
        #expect(lines.last?.contains(#""key":"c""#) == true)
        hub.send("step 1 5\npublish e 9", from: observer)
        let rest = hub.read(observer)
        #expect(rest.filter { $0.contains(#""key":"d""#) }.count == 1)
    }

    @Test("fields: told when one of the parts changed, and only those")
    func parts() {
        hub.send(#"publish a {"x":1,"y":2,"z":3}"#, from: writer)
        let lines = subscribe(#""fields":["/x","/y"]"#)
        #expect(lines.first?.contains(#""revision":1,"fields":{"/x":1,"/y":2},"by""#) == true)
        #expect(told(#"patch a {"z":4}"#) == [])
        #expect(told(#"patch a {"x":1.0}"#) == [])
        #expect(told(#"patch a {"x":5}"#) == [#""update","key":"a","revision":4,"fields":{"/x":5}"#])
        #expect(
            told(#"patch a {"y":null}"#) == [#""update","key":"a","revision":5,"fields":{},"gone":["/y"]"#]
        )
        #expect(told(#"emit a {"y":7}"#) == [#""emit","key":"a","revision":5,"fields":{"/y":7}"#])
        #expect(told(#"emit a {"z":7}"#) == [])
        #expect(told("delete a") == [#""delete","key":"a","revision":6"#])
    }

    @Test("fields: one that is behind is told the parts that differ from what it knew")
    func partsBehind() {
        hub.send(#"publish a {"x":1,"y":2}"# + "\n" + #"publish b {"x":1}"#, from: writer)
        _ = subscribe(#""fields":["/x","/y"]"#)
        hub.stopReading(observer)
        hub.send(#"publish a {"x":9,"y":2}"# + "\n" + #"publish a {"x":1,"y":3}"#, from: writer)
        #expect(
            told(#"publish b {"x":2}"# + "\n" + #"publish b {"x":1}"#)
                == [#""update","key":"a","revision":4,"fields":{"/y":3},"skipped":1"#]
        )
    }

    @Test("fields and where: who comes in is told all parts that are there")
    func partsThatMatch() {
        _ = subscribe(#""fields":["/x","/y"],"where":{"/in":{"==":true}}"#)
        hub.send(#"publish a {"x":1,"y":2,"in":false}"#, from: writer)
        #expect(told(#"patch a {"y":3,"in":true}"#).last?.hasSuffix(#""fields":{"/x":1,"/y":3}"#) == true)
        #expect(told(#"patch a {"y":4}"#).last?.hasSuffix(#""fields":{"/y":4}"#) == true)
        #expect(told(#"patch a {"in":false}"#) == [#""leave","key":"a","revision":4"#])
    }

    @Test("diff: the value first, then what changed in it, or the value where that says more")
    func differences() {
        let pad = String(repeating: "p", count: 50)
        hub.send(#"publish a {"pad":"\#(pad)","x":1}"#, from: writer)
        #expect(subscribe(#""diff":true"#).first?.contains(#""value":{"pad""#) == true)
        #expect(told(#"patch a {"x":2}"#) == [#""update","key":"a","revision":2,"patch":{"x":2}"#])
        #expect(told(#"patch a {"x":null}"#) == [#""update","key":"a","revision":3,"patch":{"x":null}"#])
        #expect(told("publish a 1").last?.hasSuffix(#""value":1"#) == true)
        #expect(told(#"emit a {"x":1}"#).last?.hasSuffix(#""value":{"x":1}"#) == true)
        hub.send(#"publish a {"pad":"\#(pad)","x":1}"#, from: writer)
        _ = hub.read(observer)
        hub.stopReading(observer)
        #expect(
            told("delete a\n" + #"publish a {"pad":"\#(pad)","x":3}"#)
                == [#""update","key":"a","revision":7,"patch":{"x":3},"skipped":1"#]
        )
    }

    @Test("diff: without the values of the start, the first of each key is told whole")
    func differencesWithoutStart() {
        let pad = String(repeating: "p", count: 50)
        hub.send(#"publish a {"pad":"\#(pad)","x":1}"#, from: writer)
        _ = subscribe(#""diff":true,"initial":false"#)
        #expect(told(#"patch a {"x":2}"#).first?.contains(#""value":{"#) == true)
        #expect(told(#"patch a {"x":3}"#).first?.contains(#""patch":{"x":3}"#) == true)
    }

    @Test("who isn't told is not waited for")
    func acknowledging() {
        _ = subscribe(#""where":{"":{">":1}},"ack":true,"phase":1"#)
        let logger = hub.client()
        hub.send("subscribe a", from: logger)
        _ = hub.read(logger)
        hub.send("publish a 1", from: writer)
        #expect(hub.read(logger).count == 1)
        hub.send("publish a 2", from: writer)
        #expect(hub.read(logger).isEmpty)
        hub.send(#"{"op":"ack","sub":1,"revision":2}"#, from: observer)
        #expect(hub.read(logger).count == 1)
    }

    @Test("explain says who would be spared")
    func explained() {
        _ = subscribe(#""where":{"":{">":1}}"#)
        hub.send("publish a 2\nexplain publish a 3\nexplain publish a 1\nexplain publish b 1", from: writer)
        let outcomes = hub.read(writer).suffix(3).compactMap {
            $0.split(separator: #""outcome":""#).last?.prefix { $0 != "\"" }
        }
        #expect(outcomes == ["sent", "sent", "filtered"])
    }

    @Test("a filter that is wrong is refused with its place, and nothing is left of it")
    func refused() {
        let keys = hub.keyCount
        let wrong = [
            (#"{"op":"subscribe","key":"a","where":{"/x":{"<<":1}}}"#, "wrong_type", 44),
            (#"{"op":"subscribe","key":"a","fields":["x"]}"#, "wrong_type", 39),
            (#"{"op":"subscribe","key":"a","fields":["/x"],"diff":true}"#, "duplicate_field", 45),
        ]
        for (line, code, place) in wrong {
            hub.send(line, from: observer)
            let reply = hub.read(observer).last ?? ""
            #expect(reply.hasPrefix(#"{"error":"\#(code)","#))
            #expect(number("at", in: reply) == place)
        }
        #expect(hub.keyCount == keys)
    }
}
