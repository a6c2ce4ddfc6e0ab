// Replays every session in `protocol/transcripts/` and every example in SPEC.md with a real
// broker, exactly as written.

import PlugboardPosix
import TestSupport
import Testing

@Suite("transcripts", .someAtATime)
struct TranscriptTests {
    @Test(
        "each transcript goes as written", arguments: try ProtocolFolder.transcripts(), RunningBroker.pollers
    )
    func replays(_ name: String, _ poller: PollerKind) throws {
        let transcript = try Transcript(name: "protocol/\(name)", text: try ProtocolFolder.text(name))
        // A hub has no poller.
        if transcript.needsHub, poller != .standard { return }
        try Self.replay(transcript, .lineByLine, poller)
    }

    @Test("a piped transcript gives the same in one packet and byte by byte", arguments: try piped())
    func replaysWhole(_ name: String) throws {
        let transcript = try Transcript(name: "protocol/\(name)", text: try ProtocolFolder.text(name))
        try Self.replay(transcript, .allAtOnce, .standard)
        try Self.replay(transcript, .oneByteAtATime, .standard)
    }

    @Test("each goes the same where a request looks at one key a turn", arguments: try sliced())
    func replaysInSlices(_ name: String) throws {
        let transcript = try Transcript(name: "protocol/\(name)", text: try ProtocolFolder.text(name))
        let stage = { try HubStage(transcript, hasSlices: true) }
        try TranscriptReplay(transcript, try ProtocolSchema(), stage).run(.lineByLine)
    }

    @Test("each example in the specification goes as written", arguments: RunningBroker.pollers)
    func replaysSpecification(_ poller: PollerKind) throws {
        let examples = try Self.examples()
        #expect(examples.count > 20)
        for example in examples { try Self.replay(example, .lineByLine, poller) }
    }

    @Test("every JSON line in the specification is in a replayed example or described beside it")
    func showsNothingUntried() throws {
        let page = try ProtocolFolder.text("SPEC.md")
        let fences = page.split(separator: "\n").filter { $0.hasPrefix("```") }.map {
            String($0.dropFirst(3))
        }
        #expect(Set(fences).isSubset(of: ["", "plugboard", "abnf", "sh", "json"]))
        for block in Transcript.blocks("", of: page, name: "protocol/SPEC.md") {
            let lines = block.text.split(separator: "\n").filter { $0.hasPrefix("{") }
            #expect(lines.isEmpty, "\(block.name):\(block.firstLine) holds JSON that nobody replays")
        }
    }

    @Test("the schema accepts the requests in sessions, except those refused for their shape")
    func fitsSchema() throws {
        let schema = try ProtocolSchema()
        let files = try ProtocolFolder.transcripts().map {
            try Transcript(name: "protocol/\($0)", text: try ProtocolFolder.text($0))
        }
        var checked = 0
        for transcript in files + (try Self.examples()) {
            for exchange in transcript.exchanges {
                // A request that a policy or a plugin's declaration forbids may have any shape.
                let mayForbid = transcript.policy != nil || transcript.needsHub
                if mayForbid, exchange.errorCode == "forbidden" { continue }
                // The supervisor writes keys that nobody else may.
                if exchange.request.firstRange(of: Array("$broker.plugins.".utf8)) != nil { continue }
                checked += 1
                try Self.check(exchange, schema)
            }
        }
        #expect(checked > 100)
    }

    private static func check(_ exchange: Transcript.Exchange, _ schema: ProtocolSchema) throws {
        guard exchange.request.first == UInt8(ascii: "{") else { return }
        guard let code = exchange.errorCode else {
            let problem = try schema.problem(request: exchange.request)
            return #expect(problem == nil, "\(exchange.place)")
        }
        guard ProtocolSchema.shapeCodes.contains(code) else { return }
        let problem = try schema.problem(request: exchange.request)
        #expect(problem != nil, "\(exchange.place): the schema sees nothing wrong")
    }

    static func piped() throws -> [String] {
        try ProtocolFolder.transcripts().filter { try ProtocolFolder.text($0).contains("\n#< ") }
    }

    /// Those that are played with a hub, or are about keys that are looked at. What comes very often takes its time.
    /// Lines that are sent together have a turn each here, and `waiting` is about lines of one turn.
    static func sliced() throws -> [String] {
        try ProtocolFolder.transcripts().filter { name in
            let text = try ProtocolFolder.text(name)
            let isAboutKeys = ["/keys", "/order-", "/since", "/subscribe"].contains { name.contains($0) }
            let needsHub = try Transcript(name: name, text: text).needsHub
            let isOther = text.contains("#times ") || name.contains("/waiting")
            return isAboutKeys || needsHub && !isOther
        }
    }

    static func examples() throws -> [Transcript] {
        let page = try ProtocolFolder.text("SPEC.md")
        return try Transcript.blocks("plugboard", of: page, name: "protocol/SPEC.md").map {
            try Transcript(name: $0.name, text: $0.text, firstLine: $0.firstLine)
        }
    }

    static func replay(_ transcript: Transcript, _ pace: Pace, _ poller: PollerKind) throws {
        let replay = try TranscriptReplay(transcript, try ProtocolSchema()) {
            if transcript.needsHub { return try HubStage(transcript) }
            return try SocketStage(transcript, poller)
        }
        try replay.run(pace)
    }
}
