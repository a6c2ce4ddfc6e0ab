import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("metrics", .someAtATime)
final class MetricsTests: BrokerSuite {
    private static let promtool = ["/usr/bin/promtool", SocketPath.variable("PROMTOOL") ?? ""].first {
        FileStatus.isRunnable(path: $0)
    }

    /// The samples by their names, or an error for a line that isn't in the format.
    private func samples(_ text: String) throws -> [String: [Substring]] {
        var samples: [String: [Substring]] = [:]
        var (help, kind) = ("", "")
        let helpLine = /# HELP (plugboard_[a-z_]+) \S.*\./
        let typeLine = /# TYPE (plugboard_[a-z_]+) (counter|gauge)/
        let sample =
            /(plugboard_[a-z_]+)(?:\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})? ([0-9]+(?:\.[0-9]+)?)/
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#"), let found = line.wholeMatch(of: helpLine) {
                help = String(found.1)
                #expect(samples[help] == nil, "\(help) stands twice")
            } else if line.hasPrefix("#"), let found = line.wholeMatch(of: typeLine) {
                #expect(found.1 == help)
                kind = String(found.2)
                #expect((kind == "counter") == help.hasSuffix("_total"), "\(help)")
            } else {
                let found = try #require(line.wholeMatch(of: sample), "\(line)")
                #expect(found.1 == help)
                samples[help, default: []].append(found.2)
            }
        }
        return samples
    }

    @Test("the figures of the broker and its clients, each with help and type")
    func format() throws {
        _ = try run("publish", "a", "1")
        let odd = try LinePeer(path: folder.socket)
        try odd.send(#"{"op":"hello","id":1,"name":"o\"d\\d"}"# + "\n")
        while try !odd.text().contains(#""ok":"hello""#) {}
        let finished = try run("metrics")
        let samples = try samples(finished.output)
        #expect(samples["plugboard_up"] == ["1"] && samples["plugboard_keys"] == ["1"])
        #expect(
            samples["plugboard_writes_total"] == ["1"] && samples["plugboard_client_lines_total"] == ["1"]
        )
        #expect(samples["plugboard_calls_total"] == ["0"] && samples["plugboard_clients_omitted"] == ["0"])
        #expect(finished.output.contains(#",name="o\"d\\d"} "#))
        #expect(samples.count > 20)
        #expect(MetricsText.seconds(1_234_567) == "1.234567" && MetricsText.seconds(12) == "0.000012")
        #expect(MetricsText.escaped("a\n\"\\") == #"a\n\"\\"#)
    }

    @Test("of very many clients only the last have figures of their own, and the others are counted")
    func manyClients() throws {
        let connection = try BrokerConnection(path: folder.socket)
        try connection.expectGreeting()
        var report = try BusReport(connection)
        for count in [MetricsText.clientsMax, MetricsText.clientsMax + 1] {
            report.clients = try (1...count).map {
                try JSONObject(parsing: Array(#"{"client":\#($0),"name":"c","lines":1}"#.utf8)[...])
            }
            let text = MetricsText(report).text
            let samples = try samples(text)
            #expect(samples["plugboard_client_lines_total"]?.count == MetricsText.clientsMax)
            #expect(samples["plugboard_clients_omitted"] == ["\(count - MetricsText.clientsMax)"])
            #expect(text.contains("{client=\"1\",") == (count == MetricsText.clientsMax))
        }
    }

    @Test(
        "promtool has nothing to say",
        .enabled(if: promtool != nil, "promtool (Debian: prometheus) isn't here")
    )
    func checked() throws {
        let tool = try #require(Self.promtool)
        let finished = try Run(
            program: tool, ["check", "metrics"], in: folder, input: try run("metrics").output
        ).finished()
        #expect(finished.end == .exited(0) && finished.output.isEmpty && finished.messages.isEmpty)
    }

    @Test("a file has the old figures or the new ones, never a part, and says when the broker is gone")
    func file() throws {
        let writer = try Run(["metrics", "--into", "bus.prom", "--every", "0.1"], in: folder)
        try eventually("there is a file") { folder.exists("bus.prom") }
        var seen: Set<String> = []
        try eventually("three different ones") {
            let text = folder.text("bus.prom")
            #expect(text.hasPrefix("# HELP plugboard_up") && text.hasSuffix("\n"))
            #expect(text.contains("plugboard_sent_bytes_total "))
            seen.insert(text)
            return seen.count >= 3
        }
        broker.signal(SIGTERM)
        try eventually("it is down") { folder.text("bus.prom") == MetricsText.down }
        #expect(MetricsText.down.hasSuffix("\nplugboard_up 0\n"))
        try eventually("it says so") { writer.messages.contains("looking again every 0.1 s") }
        let next = try startBroker(in: folder)
        try eventually("it is up") { folder.text("bus.prom").contains("plugboard_up 1\n") }
        try eventually("it says so") { writer.messages.hasSuffix("the figures are there again\n") }
        writer.signal(SIGTERM)
        #expect(try writer.finished().end == .exited(0))
        #expect(try folder.names().filter { $0.contains(".new-") } == [])
        _ = next
    }

    @Test("a symbolic link is followed, also if nothing is there yet, and stays", arguments: [true, false])
    func link(isThere: Bool) throws {
        try folder.write("disk/old", "")
        if isThere { try folder.write("disk/bus.prom", "before") }
        try FileCopy.link(at: "\(folder.path)/bus.prom", to: "disk/bus.prom")
        #expect(try run("metrics", "--into", "bus.prom").end == .exited(0))
        #expect(FileCopy.target(ofLink: "\(folder.path)/bus.prom") == "disk/bus.prom")
        #expect(folder.text("disk/bus.prom").contains("plugboard_up 1\n"))
        #expect(try Folder.names(in: "\(folder.path)/disk").sorted() == ["bus.prom", "old"])
    }

    @Test("a pipe is never replaced, also behind a link or without a broker")
    func pipe() throws {
        SystemCalls.makePipe(folder("pipe"))
        try FileCopy.link(at: folder("link"), to: "pipe")
        for words in [["pipe"], ["link"], ["pipe", "--socket", folder("none")]] {
            let finished = try Run(["metrics", "--into"] + words, in: folder).finished()
            #expect(finished.end == .exited(1) && finished.messages.contains("is no file"), "\(finished)")
        }
        #expect(FileStatus(path: folder("pipe")).kind == .other)
        #expect(try folder.names().filter { $0.contains(".new-") } == [])
    }

    @Test("once into a file without a broker: the file says so, and the status is 69")
    func down() throws {
        let finished = try run("metrics", "--into", "bus.prom", "--socket", "\(folder.path)/none")
        #expect(finished.end == .exited(69) && folder.text("bus.prom") == MetricsText.down)
    }

    @Test("a wrong option, a period that is too short, or a folder that isn't there is named")
    func mistakes() throws {
        #expect(try run("metrics", "--every", "15").messages.contains("--every goes with --into"))
        #expect(try run("metrics", "--into", "f", "--every", "0.09").end == .exited(64))
        let nowhere = try run("metrics", "--into", "none/bus.prom")
        #expect(nowhere.end == .exited(1) && nowhere.messages.contains("none/bus.prom"))
        #expect(try folder.names().filter { $0.contains("prom") } == [])
    }
}
