import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("status, clients and services", .someAtATime)
final class BusStatusTests: BrokerSuite {
    @Test("status shows version, socket, process, journal, keys and clients, and that nothing is wrong")
    func status() throws {
        _ = try run("publish", "a", "1")
        let watcher = try Run(["subscribe", "**"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        let finished = try run("status")
        #expect(finished.end == .exited(0))
        #expect(finished.lines.first == "plugboard \(ProtocolVersion.software) (protocol 1)")
        let rows = finished.lines.dropFirst().map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        func row(_ name: String) -> String { (rows.first { $0[0] == name }?.last ?? "").trimmingSpaces() }
        #expect(row("socket") == folder.socket)
        #expect(row("process").hasPrefix("\(broker.pid), up for "))
        #expect(
            row("journal").hasPrefix("\(folder.path)/state/plugboard/")
                && row("journal").hasSuffix(" in 1 file")
        )
        // The broker's own keys take revisions, too, each time somebody looks at them.
        let told = try #require(row("keys").wholeMatch(of: /1, at revision ([0-9]+)/).map { Int($0.1) ?? 0 })
        let now = try revision()
        #expect((1...now).contains(told))
        #expect(row("clients") == "1")
        #expect(row("plugins") == "none: plugboard up didn't start this broker")
        #expect(row("wrong") == "nothing")
        let json = try JSONObject(parsing: Array(try run("status", "--json").output.utf8)[...])
        #expect(json["socket"]?.string == folder.socket && json["problems"]?.array?.isEmpty == true)
        #expect(json["pid"]?.integer == UInt64(broker.pid) && json["clients"]?.integer == 1)
    }

    private func revision() throws -> Int {
        let stats = try JSONObject(parsing: Array(try run("get", "$broker.stats").output.utf8)[...])
        return Int(clamping: try #require(stats["revision"]?.integer))
    }

    @Test("status says what is wrong: slow clients, crashing plugins, warnings, another version")
    func problems() throws {
        func object(_ text: String) throws -> JSONObject { try JSONObject(parsing: Array(text.utf8)[...]) }
        let connection = try BrokerConnection(path: folder.socket)
        try connection.expectGreeting()
        var report = try BusReport(connection)
        #expect(StatusText(report: report, paint: Paint(isOn: false)).problems == [])
        report.clients = [
            try object(#"{"client":3,"name":"s\u001blow","state":"lagging","queued":2000,"owed":7}"#),
            try object(#"{"client":4,"name":"fine","state":"live"}"#),
        ]
        report.plugins = [
            try object(#"{"name":"cart","state":"broken","end":"exited with status 1"}"#),
            try object(#"{"name":"logger","state":"running","problem":"plugin.json:1:1: bad"}"#),
        ]
        report.warnings = [
            try object(#"{"message":"a loop","times":3,"when":"2026-11-23T00:00:00.000Z"}"#)
        ]
        let text = StatusText(report: report, paint: Paint(isOn: false))
        #expect(
            text.problems == [
                #"client 3, s\u001blow, reads too slowly: 2.0 kB and 7 keys wait"#,
                "plugin cart is broken: exited with status 1", "plugin logger: plugin.json:1:1: bad",
                "a loop, 3 times, last at 2026-11-23T00:00:00.000Z",
            ]
        )
        #expect(text.lines.contains { $0.hasPrefix("  wrong    client 3") })
        let many = try object(#"{"message":"w","times":1,"when":"t"}"#)
        report.warnings = Array(repeating: many, count: 32)
        let shown = StatusText(report: report, paint: Paint(isOn: false)).lines
        #expect(shown.count == 7 + StatusText.problemsMax + 1 && shown.last?.contains("and 25 more") == true)
    }

    @Test("what a program says of itself is wrong for status, its exit status, and metrics")
    func health() throws {
        let told: [(name: String, value: String)] = [
            ("well", #"{"state":"well","since":"2026-11-21T17:50:01.250Z","counts":{"sent":7}}"#),
            (
                "till 3",
                #"{"state":"degraded","since":"2026-11-21T17:50:01.250Z","message":"no \u001b paper","counts":{"left":3,"x":-1}}"#
            ),
            ("bridge", #"{"state":"down"}"#), ("game", #"{"state":"happy"}"#), ("player", "100"),
        ]
        #expect(try run("status").end == .exited(0))
        var peers: [LinePeer] = []
        for (name, value) in told {
            let peer = try LinePeer(path: folder.socket)
            let key = HealthReport.key(of: name)
            try peer.send(
                "hello \(name.replacing(" ", with: "_"))\n"
                    + #"{"op":"publish","id":1,"key":"\#(key)","value":\#(value),"while":"connected"}"# + "\n"
            )
            while try !peer.text().contains(#""ok":"publish""#) {}
            peers.append(peer)
        }
        let status = try run("status")
        #expect(status.end == .exited(1) && status.messages.isEmpty)
        #expect(
            status.lines.suffix(2) == [
                "  wrong    plugin bridge is down",
                #"           plugin till 3 is degraded since 2026-11-21T17:50:01.250Z: no \u001b paper"#,
            ]
        )
        let json = try run("status", "--json")
        #expect(json.end == .exited(1) && json.messages.isEmpty)
        let object = try JSONObject(parsing: Array(json.output.utf8)[...])
        #expect(object["problems"]?.array?.count == 2)
        let health = try #require(object["health"]?.object)
        #expect(health.members.map(\.name) == ["bridge", "till 3", "well"])
        #expect(health["well"]?.text == told[0].value)
        let metrics = try run("metrics").output
        for line in [
            #"health{plugin="well",state="well"} 1"#, #"health{plugin="well",state="down"} 0"#,
            #"health{plugin="bridge",state="down"} 1"#, #"health{plugin="till 3",state="degraded"} 1"#,
            #"health_count{plugin="well",count="sent"} 7"#,
            #"health_count{plugin="till 3",count="left"} 3"#,
        ] { #expect(metrics.contains("plugboard_plugin_\(line)\n"), "\(line)") }
        #expect(!metrics.contains("plugin=\"game") && !metrics.contains("count=\"x\""))
        // They end with their programs.
        peers = []
        try eventually("nothing is wrong") { try run("status").end == .exited(0) }
    }

    @Test("of a program's counts as many are shown as may be", arguments: [0, 1])
    func healthCounts(more: Int) throws {
        let counts = (1...(ProgramHealth.countsMax + more)).map { #""c\#($0)":\#($0)"# }.joined(
            separator: ","
        )
        let value = try JSONValue(parsing: Array(#"{"state":"well","counts":{\#(counts)}}"#.utf8)[...])
        #expect(ProgramHealth(key: "a.health", value: value)?.counts.count == ProgramHealth.countsMax)
    }

    @Test("what hasn't the form of a health is ignored, a message that is too long, too", arguments: [0, 1])
    func healthForm(more: Int) throws {
        let message = String(repeating: "x", count: HealthReport.messageBytesMax + more)
        let text = #"{"state":"down","since":5,"message":"\#(message)","counts":{"a":1.5,"b":2}}"#
        let told = ProgramHealth(key: "a.health", value: try JSONValue(parsing: Array(text.utf8)[...]))
        #expect(told?.message == (more == 0 ? message : nil))
        #expect(told?.since == nil && told?.counts.map(\.name) == ["b"])
    }

    @Test("a count or a name that is told twice is shown once, because metrics may have no series twice")
    func healthTwice() throws {
        _ = try run("publish", "a-b.health", #"{"state":"well","counts":{"x":1,"y":5,"x":2,"z":6,"z":"no"}}"#)
        _ = try run("publish", "a%2Db.health", #"{"state":"down"}"#)
        _ = try run("publish", "a%252Db.health", #"{"state":"well"}"#)
        let samples = try run("metrics").lines.filter { $0.contains("_health") && !$0.hasPrefix("#") }
        let series = samples.map { $0.split(separator: " ").dropLast().joined(separator: " ") }
        #expect(Set(series).count == series.count, "\(series)")
        #expect(samples.contains(#"plugboard_plugin_health_count{plugin="a-b",count="x"} 2"#))
        #expect(samples.contains(#"plugboard_plugin_health_count{plugin="a-b",count="z"} 6"#))
        let health = try JSONObject(parsing: Array(try run("status", "--json").output.utf8)[...])["health"]
        #expect(health?.object?.members.map(\.name) == ["a%2Db", "a-b"])
    }

    @Test("clients are listed with state and counts, without the command itself")
    func clients() throws {
        #expect(try run("clients").output == "no other client is connected\n")
        let watcher = try Run(["subscribe", "**"], in: folder)
        try eventually("synced") { watcher.output.contains("synced") }
        let lines = try run("clients").lines
        #expect(lines.count == 2)
        #expect(
            lines[0].split(separator: " ") == [
                "CLIENT", "NAME", "PID", "STATE", "SUBS", "LINES", "SENT", "QUEUED", "OWED", "SINCE",
            ]
        )
        #expect(lines[1].contains(" \(watcher.pid) ") && lines[1].contains(" live "))
        let json = try run("clients", "--json").lines
        #expect(json.count == 1 && json[0].contains(#""pid":\#(watcher.pid),"#))
    }

    @Test("services lists what clients serve, with what became of the calls; words filter them")
    func services() throws {
        #expect(try run("services").output == "nobody serves anything\n")
        let server = try LinePeer(path: folder.socket)
        try server.send(
            "{\"op\":\"hello\",\"name\":\"shop\"}\n{\"op\":\"serve\",\"id\":1,\"key\":\"cart.*\"}\n"
        )
        while try !server.text().contains(#""ok":"serve""#) {}
        let rows = try run("services", "cart.*", "cart.add", "none").lines.map { $0.split(separator: " ") }
        #expect(rows.count == 4)
        #expect(rows[1].prefix(3) == ["cart.*", "shop", "(client"])
        #expect(rows[1].suffix(6) == ["-", "0", "0", "0", "-", "-"])
        #expect(rows[2].prefix(3) == ["cart.add", "shop", "(client"])
        #expect(rows[3] == ["none", "nobody", "-", "-", "-", "-", "-", "-"])
        let caller = try Run(["call", "cart.add"], in: folder)
        while try !server.text().contains(#""event":"call""#) {}
        try server.send(#"{"op":"return","id":2,"call":"1","value":1}"# + "\n")
        #expect(try caller.finished().output == "1\n")
        let json = try run("services", "--json").output
        #expect(json.contains(#""asked":1,"answered":1,"failed":0,"mean":"#))
        #expect(try run("services", "cart.add", "none").lines.count == 3)
        #expect(try run("services", "cart.**", "--json").lines.count == 1)
        #expect(try run("services", "a.*").output == "nobody serves anything like that\n")
        #expect(try run("services", "a*").end == .exited(64))
        #expect(try run("services", "cart.add", "--json").output.contains(#""name":"shop""#))
    }

    @Test("without a broker each of them ends with 69, and with a hasty reader with 0")
    func missing() throws {
        for command in ["status", "clients", "services", "metrics", "ping"] {
            let finished = try Run([command, "--socket", "\(folder.path)/none"], in: folder).finished()
            #expect(finished.end == .exited(69), "\(command)")
            #expect(finished.output.isEmpty && finished.messages.contains("no broker at"), "\(command)")
            let hasty = try Run(
                program: "/bin/sh",
                ["-c", #"{ "$0" "$1"; echo "$?" >&2; } | true"#, Products.plugboard, command],
                in: folder
            ).finished()
            #expect(hasty.messages == "0\n", "\(command)")
        }
    }
}

@Suite("status of up", .someAtATime)
final class UpStatusTests: ShopSuite {
    @Test("status counts the plugins by state, and services has what they declare")
    func plugins() throws {
        try shop.add("steady", "exec sleep 1000", json: #","serves":["steady.do","steady.all.*"]"#)
        try shop.add("crash", "exit 3")
        let up = try shop.up()
        try eventually("broken") { up.messages.contains("broken after") }
        let lines = try plugboard("status", in: shop.folder).lines
        #expect(lines.contains("  plugins  2: 1 broken, 1 running"))
        #expect(lines.last == "  wrong    plugin crash is broken: exited with status 3")
        let services = try plugboard("services", in: shop.folder).lines
        #expect(
            services.contains { $0.split(separator: " ").prefix(3) == ["steady.do", "nobody", "steady"] })
        #expect(services.contains { $0.split(separator: " ").prefix(3) == ["steady.all.*", "-", "steady"] })
        #expect(services.contains { $0.hasPrefix("plugins.restart ") && $0.contains(" up (client ") })
        let metrics = try plugboard("metrics", in: shop.folder).output
        #expect(metrics.contains("plugboard_plugin_running{plugin=\"steady\"} 1\n"))
        #expect(metrics.contains("plugboard_plugin_broken{plugin=\"crash\"} 1\n"))
        #expect(metrics.contains("plugboard_plugin_restarts_total{plugin=\"crash\"} 4\n"))
    }
}
