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
    private let makeStage: () throws -> any Stage
    private var stage: any Stage
    private let schema: ProtocolSchema
    private var clients: Set<String> = []
    /// Clients that can't ask any more whether something else comes.
    private var silent: Set<String> = []
    private var lastSent = "(nothing)"
    /// What the newest greeting says.
    private var epoch = ""
    /// Greetings that a transcript may still show.
    private var greetings: [String: [UInt8]] = [:]

    init(_ transcript: Transcript, _ schema: ProtocolSchema, _ makeStage: @escaping () throws -> any Stage)
        throws
    {
        self.transcript = transcript
        self.makeStage = makeStage
        stage = try makeStage()
        self.schema = schema
    }

    /// Throws `ReplayFailure` at the first difference.
    func run(_ pace: Pace) throws {
        if pace != .lineByLine { try sendWhole(pace) }
        for step in transcript.steps { try play(step, pace) }
        try checkNothingIsLeft(pace)
    }

    private func play(_ step: Transcript.Step, _ pace: Pace) throws {
        if case .happen(let event) = step.action { return try happen(event, step) }
        if case .connect(let account) = step.action { return try connect(step, as: account) }
        if !clients.contains(step.client) { try connect(step, as: Account()) }
        switch step.action {
        case .send(let bytes):
            guard pace == .lineByLine else { return }
            lastSent = step.text
            try attempt(step) { try stage.send(filled(bytes), from: step.client) }
        case .expect(let expectation):
            try expect(expectation, step)
            if transcript.piped != nil, pace == .lineByLine {
                try stage.send(Array("\(step.text)\n".utf8), from: step.client)
            }
        case .finish:
            try stage.finish(step.client)
            silent.insert(step.client)
        case .vanish:
            stage.vanish(step.client)
            clients.remove(step.client)
        case .expectEnd:
            try expectEnd(step)
            silent.insert(step.client)
        case .expectNothing: try expectNothing(step)
        case .stopReading: try (stage as? HubStage)?.stopReading(step.client)
        case .connect, .happen: break
        }
    }

    private func happen(_ event: Transcript.Event, _ step: Transcript.Step) throws {
        switch event {
        case .restart, .fresh:
            try checkNothingIsLeft(.lineByLine)
            clients = []
            silent = []
        case .time, .policy: break
        }
        if case .fresh = event {
            stage = try makeStage()
        } else {
            try attempt(step) { try stage.happen(event) }
        }
    }

    private func expect(_ expectation: Expectation, _ step: Transcript.Step) throws {
        let greeting = expectation.isGreeting ? greetings.removeValue(forKey: step.client) : nil
        let line = try greeting ?? attempt(step) { try stage.line(for: step.client) }
        guard let line else { throw failure(step, got: "the end", reason: "the broker closed") }
        if let mismatch = expectation.mismatch(line) { throw failure(step, line, reason: mismatch) }
        if let problem = schema.problem(output: line) {
            throw failure(step, line, reason: "not in the schema: \(problem)")
        }
    }

    private func expectEnd(_ step: Transcript.Step) throws {
        if let line = try attempt(step, { try stage.line(for: step.client) }) {
            throw failure(step, line, reason: "the broker should have closed")
        }
    }

    private func expectNothing(_ step: Transcript.Step) throws {
        if let line = try attempt(step, { try stage.leftOver(for: step.client) }) {
            throw failure(step, line, reason: "the transcript doesn't show this line")
        }
    }

    /// The first mention of a client connects it. Its greeting is read and checked here. The transcript may show it
    /// as the first line that it gets.
    private func connect(_ step: Transcript.Step, as account: Account) throws {
        try attempt(step) { try stage.connect(step.client, as: account) }
        clients.insert(step.client)
        silent.remove(step.client)
        guard let greeting = try attempt(step, { try stage.line(for: step.client) }) else {
            throw failure(step, got: "the end", reason: "no greeting")
        }
        guard greeting.starts(with: #"{"event":"hello","#.utf8) else {
            throw failure(step, greeting, reason: "that isn't a greeting")
        }
        if let problem = schema.problem(output: greeting) { throw failure(step, greeting, reason: problem) }
        epoch = try JSONNode(greeting)["epoch"]?.string ?? ""
        greetings[step.client] = greeting
    }

    /// What is sent, with the epoch that only the broker knows.
    private func filled(_ bytes: [UInt8]) -> [UInt8] {
        let mark = Array("«epoch»".utf8)
        guard let place = bytes.firstRange(of: mark) else { return bytes }
        return bytes.replacing(mark, with: Array(epoch.utf8), subrange: place.lowerBound..<bytes.endIndex)
    }

    private func sendWhole(_ pace: Pace) throws {
        guard let bytes = transcript.piped, let first = transcript.steps.first else {
            throw BadDocument(transcript.name, "only piped transcripts are sent whole")
        }
        try connect(first, as: Account())
        try attempt(first) {
            switch pace {
            case .oneByteAtATime: for byte in bytes { try stage.send([byte], from: first.client) }
            default:
                try stage.send(bytes, from: first.client)
                try stage.finish(first.client)
            }
        }
    }

    /// Checks that connected clients get nothing that the transcript doesn't show.
    private func checkNothingIsLeft(_ pace: Pace) throws {
        let last = transcript.steps[transcript.steps.count - 1]
        for client in clients.subtracting(silent) {
            let step = Transcript.Step(
                place: last.place, client: client, text: "nothing more for \(client)", action: last.action
            )
            guard pace == .allAtOnce else {
                try expectNothing(step)
                continue
            }
            // After a half-close the broker closes, unless there is a subscription.
            if !transcript.endsSubscribed { try expectEnd(step) }
        }
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
