import PlugboardPosix
import TestSupport
import Testing

@testable import DashboardPlugin

@Suite("The dashboard's server", .someAtATime, .timeLimit(.minutes(20)))
struct WebServerTests {
    @Test("serves each file of the page, with a policy that lets nothing else in")
    func files() throws {
        let server = try PageServer()
        let client = try server.client()
        for (path, file) in PageFile.all {
            let reply = try client.ask("GET", path, [server.host])
            #expect(reply.status == 200)
            #expect(reply.body == String(decoding: file.bytes, as: UTF8.self))
            #expect(reply.head.contains("Content-Type: \(file.type); charset=utf-8\r\n"))
            #expect(reply.head.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"))
            #expect(reply.head.contains("X-Content-Type-Options: nosniff\r\n"))
            #expect(!reply.head.lowercased().contains("access-control"))
        }
        #expect(try client.ask("GET", "/main.swift", [server.host]).status == 404)
        #expect(try client.ask("GET", "/../plugin.json", [server.host]).status == 404)
        #expect(try client.ask("GET", "/?x=1", [server.host]).status == 404)
    }

    @Test("passes the broker's lines on, and each request's reply")
    func stream() throws {
        let server = try PageServer(writes: true)
        let stream = try PageStream(server)
        #expect(try stream.event().hasPrefix(#"data: {"event":"hello","#))
        let reply = try stream.ask(#"{"op":"subscribe","id":1,"key":"lamp","sub":"s"}"#)
        #expect(reply.body == #"{"ok":"subscribe","id":1,"sub":"s","revision":0}"# + "\n")
        #expect(try stream.event() == #"data: {"event":"synced","sub":"s","revision":0}"#)
        #expect(try stream.ask(#"{"op":"publish","id":2,"key":"lamp","value":4.90}"#).status == 200)
        let update = #"data: {"event":"update","sub":"s","key":"lamp","revision":1,"value":4.90,"by":"page"}"#
        #expect(try stream.event() == update)
        #expect(try stream.ask(#"{"op":"get","id":3,"key":"lmap"}"#).body.contains("did you mean"))
    }

    @Test("without --write a write never reaches the broker")
    func readsOnly() throws {
        let server = try PageServer()
        let stream = try PageStream(server)
        _ = try stream.event()
        let refused = try stream.ask(#"{"op":"publish","id":1,"key":"lamp","value":1}"#)
        #expect(refused.body.hasPrefix(#"{"error":"forbidden","id":1,"#))
        #expect(try stream.ask(#"{"op":"sync","id":2}"#).body == #"{"ok":"sync","id":2,"revision":0}"# + "\n")
    }

    @Test("who doesn't prove to be the page gets 403, and is told nothing")
    func entry() throws {
        let server = try PageServer()
        let wrong = ("Authorization", "Bearer \(WebToken().text)")
        let foreign = ("Origin", "http://evil.example")
        let attempts: [(String, String, [(String, String)])] = [
            ("GET", "/", [("Host", "evil.example")]), ("GET", "/", [("Host", "localhost")]),
            ("GET", "/events", [server.host]), ("GET", "/events", [server.host, wrong]),
            ("GET", "/events", [server.host, server.bearer, foreign]),
            ("POST", "/request", [server.host, server.bearer]),
            ("POST", "/request", [server.host, server.bearer, foreign]),
            ("POST", "/request", [server.host, wrong, server.origin]),
        ]
        for (method, target, headers) in attempts {
            let client = try server.client()
            let reply = try client.ask(method, target, headers, method == "POST" ? "{}" : "")
            #expect(reply.status == 403, "\(method) \(target) \(headers)")
            #expect(reply.body.isEmpty)
            try client.waitForEnd()
        }
    }

    @Test("a broker that goes and comes back is told of, and the stream goes on")
    func brokerGone() throws {
        let server = try PageServer(patience: WebPatience(retry: 0.02))
        let stream = try PageStream(server)
        #expect(try stream.event().contains("hello"))
        server.stopBroker()
        var event = try stream.event()
        if event.contains(#""bye""#) { event = try stream.event() }
        #expect(event == "event: gone\ndata: {}")
        #expect(try stream.ask(#"{"op":"sync","id":1}"#).status == 502)
        try server.startBroker()
        #expect(try stream.event().contains("hello"))
        #expect(try stream.ask(#"{"op":"sync","id":1}"#).status == 200)
    }

    @Test("a page that doesn't read is owed the newest, and the server keeps little for it")
    func slowPage() throws {
        let server = try PageServer()
        let stream = try PageStream(server, kernelBytes: 65_536)
        _ = try stream.event()
        _ = try stream.ask(#"{"op":"subscribe","id":1,"key":"load","sub":"s"}"#)
        let writer = try LinePeer(path: server.socket)
        let text = String(repeating: "x", count: 80_000)
        for number in 1...50 {
            try writer.send(
                #"{"op":"publish","id":1,"key":"load","value":{"n":\#(number),"t":"\#(text)"}}"# + "\n"
            )
            while try !writer.text().contains(#""ok":"publish""#) {}
        }
        var newest = 0
        var events = 0
        while newest != 50 {
            let event = try stream.event()
            guard let match = event.prefix(200).firstMatch(of: /"n":([0-9]+)/) else { continue }
            newest = Int(match.1) ?? 0
            events += 1
        }
        #expect(events < 48, "\(events) of 50 came one by one")
    }

    @Test("a page that begins to read late gets all that waits for it, and needs no heartbeat for that")
    func latePage() throws {
        var patience = WebPatience.endless
        patience.heartbeat = 10 * HangGuard.seconds
        let server = try PageServer(patience: patience)
        let stream = try PageStream(server)
        _ = try stream.event()
        _ = try stream.ask(#"{"op":"subscribe","id":1,"key":"big.*","sub":"s"}"#)
        let writer = try LinePeer(path: server.socket)
        let text = String(repeating: "x", count: 500_000)
        for number in 1...60 {
            try writer.send(#"{"op":"publish","id":1,"key":"big.\#(number)","value":"\#(text)"}"# + "\n")
            while try !writer.text().contains(#""ok":"publish""#) {}
        }
        // By now more waits than the server holds for a page.
        Pause.sleep(seconds: 0.2)
        var keys: Set<Substring> = []
        while keys.count < 60 {
            if let match = try stream.event().prefix(200).firstMatch(of: /"key":"(big\.[0-9]+)"/) {
                keys.insert(match.1)
            }
        }
    }

    @Test("ends when it is told to")
    func end() throws {
        func end() throws -> Shared<Bool> {
            let server = try PageServer()
            let stream = try PageStream(server)
            _ = try stream.event()
            return server.hasEnded
        }
        let hasEnded = try end()
        try eventually("its thread has ended") { hasEnded.get() }
    }
}

@Suite("What the dashboard's server bears", .someAtATime, .timeLimit(.minutes(20)))
struct WebSiegeTests {
    private func rawStatus(_ server: PageServer, _ text: String) throws -> Int {
        let client = try server.client()
        try client.send(text)
        let status = try client.reply().status
        try client.waitForEnd()
        return status
    }

    @Test("half a request, a slow one and a silent connection end after their time")
    func slowloris() throws {
        let server = try PageServer(patience: WebPatience(head: 1, body: 1, idle: 1))
        let silent = try server.client()
        let half = try server.client()
        try half.send("GET / HTTP/1.1\r\nHost: ")
        let body = try server.client()
        let headers = [server.host, server.bearer, server.origin].map { "\($0.0): \($0.1)\r\n" }.joined()
        try body.send("POST /request HTTP/1.1\r\n\(headers)Content-Length: 10\r\n\r\n{")
        let rested = try server.client()
        #expect(try rested.ask("GET", "/", [server.host]).status == 200)
        for client in [silent, half, body, rested] { try client.waitForEnd() }
        let slow = try server.client()
        let limit = TimeLimit(seconds: HangGuard.seconds)
        while !slow.isEnded, !limit.isOver {
            try slow.send("x")
            Pause.sleep(seconds: 0.02)
            try slow.drainNow()
        }
        #expect(slow.isEnded)
        #expect(try server.status() == 200)
    }

    @Test("a body of the greatest length is read, and a longer one is refused before it comes")
    func bodies() throws {
        let server = try PageServer()
        let stream = try PageStream(server)
        let frame = #"{"op":"get","id":1,"key":"a","x-a":""}"#
        let text = String(repeating: "x", count: WebLimits.bodyBytesMax - 1 - frame.utf8.count)
        let line = #"{"op":"get","id":1,"key":"a","x-a":"\#(text)"}"# + "\n"
        #expect(try stream.ask(line).body.contains("not_found"))
        let headers = stream.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
        for length in ["\(WebLimits.bodyBytesMax + 1)", "10737418240", "999999999999999999"] {
            let request = "POST /request HTTP/1.1\r\n\(headers)Content-Length: \(length)\r\n\r\n"
            #expect(try rawStatus(server, request) == 413, "\(length)")
        }
        for length in ["", "-1", "1x", "+1", "9999999999999999999", "1, 1"] {
            let request = "POST /request HTTP/1.1\r\n\(headers)Content-Length: \(length)\r\n\r\n"
            #expect(try rawStatus(server, request) == 400, "\(length)")
        }
        #expect(try rawStatus(server, "POST /request HTTP/1.1\r\n\(headers)\r\n") == 400)
        let chunked = "POST /request HTTP/1.1\r\n\(headers)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        #expect(try rawStatus(server, chunked) == 411)
        let twice = "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"
        #expect(try rawStatus(server, "POST /request HTTP/1.1\r\n\(headers)\(twice)") == 400)
        #expect(
            try rawStatus(server, "GET / HTTP/1.1\r\nHost: \(server.host.1)\r\nContent-Length: 1\r\n\r\n")
                == 400
        )
        #expect(try server.status() == 200)
    }

    @Test("a request of 10 GB is refused at its head, and not read however much of it is sent")
    func endlessBody() throws {
        let server = try PageServer(writes: true)
        let stream = try PageStream(server)
        let headers = stream.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
        let client = try server.client()
        try client.send("POST /request HTTP/1.1\r\n\(headers)Content-Length: 10737418240\r\n\r\n")
        let piece = Array(repeating: UInt8(ascii: "x"), count: 65_536)
        var sent = 0
        while !client.isEnded, sent < 1_000 {
            try client.send(piece)
            sent += 1
            try client.drainNow()
        }
        // What the kernel keeps for both ends, and no more.
        #expect(sent < 100, "\(sent) pieces")
        #expect(try stream.ask(#"{"op":"sync","id":1}"#).status == 200)
    }

    @Test("a head without an end is refused, however much of it is sent")
    func endlessHead() throws {
        let server = try PageServer()
        let client = try server.client()
        try client.send("GET / HTTP/1.1\r\nA: ")
        for _ in 0..<100 where !client.isEnded { try client.send(String(repeating: "x", count: 10_000)) }
        #expect(try server.status() == 200)
        #expect(try rawStatus(server, "\u{0}\u{1}\r\n\r\n") == 400)
        #expect(try rawStatus(server, "GET / HTTP/3.0\r\n\r\n") == 505)
    }

    @Test("a second request ahead of the first one's answer ends the connection")
    func pipelining() throws {
        let server = try PageServer()
        let request = "GET /icon.svg HTTP/1.1\r\nHost: \(server.host.1)\r\n\r\n"
        let client = try server.client()
        try client.send(request + request)
        #expect(try client.reply().status == 200)
        #expect(try client.reply().status == 400)
        try client.waitForEnd()
    }

    @Test("64 connections are open at most: one more takes the place of the oldest that says nothing")
    func connections() throws {
        let server = try PageServer()
        let stream = try PageStream(server)
        let idle = try (0..<(WebLimits.connectionsMax - 2)).map { _ in try server.client() }
        #expect(try stream.ask(#"{"op":"sync","id":1}"#).status == 200)
        #expect(!idle.contains { $0.isEnded })
        let further = try server.client()
        #expect(try further.ask("GET", "/", [server.host]).status == 200)
        try idle[0].waitForEnd()
        #expect(try stream.event().contains("hello"))
    }

    @Test("16 streams are open at most, and a closed one makes room")
    func streams() throws {
        let server = try PageServer()
        var streams = try (0..<WebLimits.streamsMax).map { _ in try PageStream(server) }
        let refused = try server.client()
        #expect(try refused.ask("GET", "/events", [server.host, server.bearer]).status == 429)
        streams.removeLast()
        try eventually("a stream's place is free") { (try? PageStream(server)) != nil }
    }

    @Test("32 requests of a stream wait at most, and none without a stream")
    func requests() throws {
        let server = try PageServer()
        let stream = try PageStream(server)
        _ = try stream.event()
        let owner = try LinePeer(path: server.socket)
        try owner.send("serve plugins.log\n")
        while try !owner.text().contains(#""ok":"serve""#) {}
        let clients = try (0..<WebLimits.requestsMax).map { number in
            let client = try server.client()
            let line = #"{"op":"call","id":\#(number),"key":"plugins.log"}"#
            let headers = stream.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
            try client.send(
                "POST /request HTTP/1.1\r\n\(headers)Content-Length: \(line.utf8.count)\r\n\r\n\(line)"
            )
            _ = try owner.text()
            return client
        }
        #expect(try stream.ask(#"{"op":"sync","id":99}"#).status == 429)
        try owner.send("return 1 [\"a\"]\n")
        #expect(try clients[0].reply().body.contains(#""value":["a"]"#))
        #expect(try stream.ask(#"{"op":"sync","id":1}"#).status == 409)
        #expect(try stream.ask(#"{"op":"sync","id":99}"#).status == 200)
        let lost = Array(stream.headers.dropLast()) + [("Plugboard-Stream", "12345")]
        #expect(try server.client().ask("POST", "/request", lost, #"{"op":"sync","id":1}"#).status == 409)
    }

    @Test("a reply that doesn't come is not waited for")
    func lateAnswer() throws {
        let server = try PageServer(patience: WebPatience(answer: 0.1))
        let stream = try PageStream(server)
        let owner = try LinePeer(path: server.socket)
        try owner.send("serve plugins.log\n")
        while try !owner.text().contains(#""ok":"serve""#) {}
        // The broker's own answer, a time-out, would come with status 200.
        #expect(try stream.ask(#"{"op":"call","id":1,"key":"plugins.log","timeout":600000}"#).status == 504)
        try eventually("the stream goes on") { try stream.ask(#"{"op":"sync","id":1}"#).status == 200 }
    }

    @Test("a stream has a heartbeat")
    func heartbeat() throws {
        let server = try PageServer(patience: WebPatience(heartbeat: 0.02))
        let stream = try PageStream(server)
        while try stream.events.block() != ":" {}
    }
}
