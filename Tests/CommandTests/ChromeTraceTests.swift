import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("record --chrome", .someAtATime)
final class ChromeTraceTests: BrokerSuite {
    /// The events of a trace; the array's end may be missing.
    private func events(_ name: String, isWhole: Bool = true) throws -> [JSONObject] {
        let text = folder.text(name) + (isWhole ? "" : "\n]")
        return try #require(JSONValue(parsing: Array(text.utf8)[...]).array).compactMap(\.object)
    }

    private func time(_ event: JSONObject) -> Double { Double(event["ts"]?.text ?? "") ?? -1 }

    @Test("a lane for each writer, a slice for each event, an arrow from each cause to its effect")
    func lanes() throws {
        _ = try run("publish", "before", "0", "--name", "ada")
        let recorder = try Run(["record", "**", "--chrome", "t.json"], in: folder)
        try eventually("it records") {
            (try? events("t.json", isWhole: false))?.contains { $0["name"]?.string == "before" } == true
        }
        _ = try run("publish", "cart", "[1]", "--name", "cart")
        _ = try run("publish", "total", "7", "--name", "price", "--cause", "2")
        _ = try run("emit", "hey", "\"\\u0007\"", "--name", "cart", "--cause", "3")
        _ = try run("delete", "total", "--name", "price")
        recorder.signal(SIGINT)
        let finished = try recorder.finished()
        #expect(finished.end == .exited(0) && finished.output.isEmpty)
        let all = try events("t.json")
        let lanes = all.filter { $0["name"]?.string == "thread_name" }.compactMap { event in
            event["args"]?.object?["name"]?.string.map { ($0, event["tid"]?.integer) }
        }
        #expect(lanes.map(\.0) == ["ada", "cart", "price"] && lanes.map(\.1) == [1, 2, 3])
        let slices = all.filter { $0["ph"]?.string == "X" }
        #expect(slices.map { $0["name"]?.string } == ["before", "cart", "total", "hey", "total"])
        #expect(slices.map { $0["tid"]?.integer } == [1, 2, 3, 2, 3])
        #expect(slices.map { $0["cat"]?.string } == ["value", "update", "update", "emit", "delete"])
        #expect(slices[2]["args"]?.text == #"{"revision":3,"cause":2,"value":7}"#)
        #expect(slices.map(time) == slices.map(time).sorted())
        let starts = all.filter { $0["ph"]?.string == "s" }
        let ends = all.filter { $0["ph"]?.string == "f" }
        #expect(starts.map { $0["id"]?.integer } == [1, 2] && ends.map { $0["id"]?.integer } == [1, 2])
        #expect(starts.map(time) == [time(slices[1]), time(slices[2])])
        #expect(ends.map(time) == [time(slices[2]), time(slices[3])])
        #expect(ends.allSatisfy { $0["bp"]?.string == "e" })
    }

    @Test("a call is a slice of its caller, with an arrow to what its server wrote")
    func calls() throws {
        let trace = try ChromeTrace(path: folder("t.json"))
        let lines = [
            #"{"event":"update","sub":1,"key":"a","revision":7,"value":1,"by":"x"}"#,
            #"{"event":"trace","sub":2,"key":"add","revision":7,"op":"call","by":"m","cause":7,"call":"1","server":{"client":3,"name":"s"},"outcome":"asked"}"#,
            #"{"event":"update","sub":1,"key":"b","revision":8,"value":1,"by":"s","cause":7}"#,
            #"{"event":"trace","sub":2,"key":"add","revision":8,"op":"call","by":"m","cause":7,"call":"1","server":{"client":3,"name":"s"},"outcome":"answered","microseconds":9}"#,
        ]
        for (number, line) in lines.enumerated() {
            try trace.take(
                try #require(BrokerLine(Array(line.utf8)[...])), nanoseconds: UInt64(number) * 1_000_000
            )
        }
        try trace.finish()
        let all = try events("t.json")
        let slices = all.filter { $0["ph"]?.string == "X" }
        #expect(slices.map { $0["name"]?.string } == ["a", "add", "b"])
        #expect(slices.map { $0["cat"]?.string } == ["update", "call", "update"])
        let starts = all.filter { $0["ph"]?.string == "s" }
        #expect(starts.map(time) == [time(slices[0]), time(slices[1])])
    }

    @Test("slices of a lane don't overlap, and only the last causes are remembered")
    func bounds() throws {
        let trace = try ChromeTrace(path: folder("t.json"), causesMax: 100)
        func line(_ revision: Int, cause: Int? = nil) throws -> BrokerLine {
            let more = cause.map { #","cause":\#($0)"# } ?? ""
            let text =
                #"{"event":"update","sub":1,"key":"k","revision":\#(revision),"value":1,"by":"a"\#(more)}"#
            return try #require(BrokerLine(Array(text.utf8)[...]))
        }
        for revision in 1...(101) {
            try trace.take(try line(revision), nanoseconds: 1_000)
        }
        try trace.take(try line(102, cause: 1), nanoseconds: 2_000)
        try trace.take(try line(103, cause: 3), nanoseconds: 2_000)
        try trace.finish()
        let text = folder.text("t.json")
        #expect(text.split(separator: "\n").count { $0.contains(#""ph":"s""#) } == 1)
        let slices = text.split(separator: "\n").filter { $0.contains(#""ph":"X""#) }
        #expect(slices.count == 103)
        #expect(ChromeTrace.causesMax == 65_536)
        #expect(slices[0].contains(#""ts":1.000,"#) && slices[1].contains(#""ts":6.000,"#))
    }

    @Test("a recording that is killed, or whose broker goes, leaves a file that can be opened")
    func ends() throws {
        let killed = try Run(["record", "**", "--chrome", "k.json"], in: folder)
        let lost = try Run(["record", "**", "--chrome", "l.json", "--no-reconnect"], in: folder)
        for file in ["k.json", "l.json"] {
            try eventually("it is there") { folder.exists(file) }
        }
        try eventually("both observe") { try run("who", "a").output.contains("sub 1") }
        try eventually("events are in both") {
            _ = try run("publish", "a", "1")
            return ["k.json", "l.json"].allSatisfy { folder.text($0).contains(#""name":"a""#) }
        }
        killed.signal(SIGKILL)
        _ = try killed.finished()
        #expect(try events("k.json", isWhole: false).count > 1)
        broker.signal(SIGTERM)
        #expect(try lost.finished().end == .exited(69))
        #expect(try events("l.json").count > 1)
    }

    @Test("a pipe or a link in the place of the file stays, and so does what is behind it")
    func noFile() throws {
        try folder.write("precious", "text")
        try FileCopy.link(at: folder("link"), to: "precious")
        SystemCalls.makePipe(folder("pipe"))
        for name in ["pipe", "link"] {
            let finished = try run("record", "**", "--chrome", name, "--count", "1")
            #expect(finished.end == .exited(1) && finished.messages.contains("\(name) is "), "\(finished)")
        }
        #expect(FileStatus(path: folder("pipe")).kind == .other)
        #expect(FileCopy.target(ofLink: folder("link")) == "precious" && folder.text("precious") == "text")
    }

    @Test("a file that can't be made is named")
    func mistakes() throws {
        let finished = try run("record", "**", "--chrome", "none/t.json")
        #expect(finished.end == .exited(1) && finished.messages.contains("none/t.json"))
        #expect(
            try run("record", "**", "--chrome", "t.json", "--socket", "\(folder.path)/none").end
                == .exited(69)
        )
        #expect(!folder.exists("t.json"))
    }
}
