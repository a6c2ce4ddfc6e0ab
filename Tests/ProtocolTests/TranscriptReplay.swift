// Plays a transcript with a running broker and says where the two differ. It also checks
// the broker's lines with the schema, and the sent lines with their outcomes.

import TestSupport

/// Where a session went another way than its transcript.
struct ReplayFailure: Error, CustomStringConvertible {
    let place: String
    let sent: String
    let expected: String
    let got: String
    let reason: String

    var description: String {
        """
        \(place)
          sent:     \(sent)
          expected: \(expected)
          got:      \(got)
          because:  \(reason)
        """
    }
}

/// How the bytes of a transcript reach the broker.
enum Pace: String, CaseIterable, CustomStringConvertible {
    /// Each line when the earlier ones are answered.
    case lineByLine
    /// Each byte in its own write. Only for piped transcripts.
    case oneByteAtATime
    /// Everything in one piece, then nothing more: `nc -N`. Only for piped transcripts.
    case allAtOnce

    var description: String { rawValue }
}

/// One replay of one transcript.
final class TranscriptReplay {
    private let transcript: Transcript
    private let path: String
    private let schema: ProtocolSchema
    private var peers: [String: LinePeer] = [:]
    /// Clients that can't ask any more whether something else comes.
    private var silent: Set<String> = []
    private var lastSent = "(nothing)"

    init(_ transcript: Transcript, path: String, schema: ProtocolSchema) {
        self.transcript = transcript
        self.path = path
        self.schema = schema
    }

    /// Throws `ReplayFailure` at the first difference.
    func run(_ pace: Pace) throws {
        if pace != .lineByLine { try sendWhole(pace) }
        for step in transcript.steps { try play(step, pace) }
        for (client, peer) in peers where !silent.contains(client) {
            try checkNothingIsLeft(client, peer, pace)
        }
    }

    private func play(_ step: Transcript.Step, _ pace: Pace) throws {
        let peer = try peer(of: step)
        switch step.action {
        case .send(let bytes):
            guard pace == .lineByLine else { return }
            lastSent = step.text
            try attempt(step) { try peer.send(bytes) }
        case .expect(let expectation):
            try expect(expectation, from: peer, step)
            if transcript.piped != nil, pace == .lineByLine { try peer.send(step.text + "\n") }
        case .finish:
            peer.finish()
            silent.insert(step.client)
        case .vanish:
            peers[step.client] = nil
        case .expectEnd:
            try expectEnd(of: peer, step)
            silent.insert(step.client)
        }
    }

    private func expect(_ expectation: Expectation, from peer: LinePeer, _ step: Transcript.Step) throws {
        let line = try attempt(step) { try peer.line() }
        guard let line else { throw failure(step, got: "the end", reason: "the broker closed") }
        if let mismatch = expectation.mismatch(line) { throw failure(step, line, reason: mismatch) }
        if let problem = schema.problem(output: line) {
            throw failure(step, line, reason: "not in the schema: \(problem)")
        }
    }

    private func expectEnd(of peer: LinePeer, _ step: Transcript.Step) throws {
        if let line = try attempt(step, { try peer.line() }) {
            throw failure(step, line, reason: "the broker should have closed")
        }
    }

    /// The first mention of a client connects it. Its greeting is read and checked here, unless
    /// the transcript itself begins with it.
    private func peer(of step: Transcript.Step) throws -> LinePeer {
        if let peer = peers[step.client] { return peer }
        let peer = try attempt(step) { try LinePeer(path: path) }
        peers[step.client] = peer
        if case .expect(let expectation) = step.action, expectation.isGreeting { return peer }
        guard let greeting = try attempt(step, { try peer.line() }) else {
            throw failure(step, got: "the end", reason: "no greeting")
        }
        guard greeting.starts(with: #"{"event":"hello","#.utf8) else {
            throw failure(step, greeting, reason: "that isn't a greeting")
        }
        if let problem = schema.problem(output: greeting) { throw failure(step, greeting, reason: problem) }
        return peer
    }

    private func sendWhole(_ pace: Pace) throws {
        guard let bytes = transcript.piped, let first = transcript.steps.first else {
            throw BadDocument(transcript.name, "only piped transcripts are sent whole")
        }
        let peer = try peer(of: first)
        try attempt(first) {
            switch pace {
            case .oneByteAtATime: for byte in bytes { try peer.send([byte]) }
            default:
                try peer.send(bytes)
                peer.finish()
            }
        }
    }

    /// Checks that connected clients get nothing that the transcript doesn't show.
    private func checkNothingIsLeft(_ client: String, _ peer: LinePeer, _ pace: Pace) throws {
        let last = transcript.steps[transcript.steps.count - 1]
        let step = Transcript.Step(
            place: last.place, client: client, text: "nothing more for \(client)", action: last.action
        )
        if pace == .allAtOnce { return try checkEnd(peer, step) }
        try attempt(step) { try peer.send(#"{"op":"sync","id":"end of transcript"}"# + "\n") }
        guard let line = try attempt(step, { try peer.line() }) else {
            throw failure(step, got: "the end", reason: "the broker closed")
        }
        guard line.starts(with: #"{"ok":"sync","id":"end of transcript","#.utf8) else {
            throw failure(step, line, reason: "the transcript doesn't show this line")
        }
    }

    /// After a half-close the broker closes, unless there is a subscription.
    private func checkEnd(_ peer: LinePeer, _ step: Transcript.Step) throws {
        if transcript.endsSubscribed { return }
        try expectEnd(of: peer, step)
    }

    @discardableResult
    private func attempt<Result>(_ step: Transcript.Step, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw failure(step, got: "\(error)", reason: "the connection")
        }
    }

    private func failure(_ step: Transcript.Step, _ line: [UInt8], reason: String) -> ReplayFailure {
        failure(step, got: String(decoding: line.prefix(2000), as: UTF8.self), reason: reason)
    }

    private func failure(_ step: Transcript.Step, got: String, reason: String) -> ReplayFailure {
        ReplayFailure(place: step.place, sent: lastSent, expected: step.text, got: got, reason: reason)
    }
}
