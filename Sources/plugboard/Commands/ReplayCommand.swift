// `replay`: plays what `record` wrote.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let speed = CommandOption(
        "speed", "FACTOR", "how many times faster than recorded (1); 0 or max: as fast as possible"
    )
    static let to = CommandOption(
        "to", "PREFIX", "put PREFIX and a dot before each key, to spare the real keys"
    )
}

extension Command {
    static let replay = Command(
        name: "replay",
        group: .make,
        summary: "play a recorded session",
        parameters: [CommandParameter("FILE", "a file written by record; - is standard input")],
        options: [.speed, .to] + CommandOption.writing,
        details: """
            First replay publishes the values from the start, at once. Then it plays each event at its \
            time: it publishes for an update, deletes for a delete, and emits for an emit. A batch is \
            played as a batch. Each cause is the new revision of the write that was the cause. Causes from \
            before the recording are left out, and so are the broker's own keys, which have a $. All \
            writes carry this client's name, and keep their origin. ttl and while are left out: a value stays \
            until a delete of the recording.

            replay checks a file first: if a line is wrong, it names the line and plays nothing. It plays \
            standard input up to the wrong line. If a file ends within a line, replay plays everything \
            before it, except a batch that the line may belong to (status 1). You can pick lines; without \
            the first line, time begins with the first event:

              grep '"key":"cart.items"' session.ndjson | plugboard replay -
            """,
        examples: [
            "replay session.ndjson", "replay session.ndjson --speed 10 --to copy",
            "record '**' --socket live.sock | plugboard replay - --speed max",
        ],
        run: { try ReplayRun($0, $1).run() }
    )
}

/// One call of `replay`.
private struct ReplayRun {
    /// How many refusals are reported one by one; the others are counted.
    private static let reportsMax = 20

    private let invocation: Invocation
    private let console: CommandConsole
    private let path: String
    private let speed: ReplaySpeed
    private let requests: ReplayRequests

    init(_ invocation: Invocation, _ console: CommandConsole) throws {
        self.invocation = invocation
        self.console = console
        path = invocation.arguments[0]
        speed = try Self.speed(invocation)
        requests = ReplayRequests(prefix: try Self.prefix(invocation))
    }

    func run() throws {
        var reader = try reader()
        let total = path != "-" && reader.isRegular ? try checked() : nil
        let connection = try BrokerConnection.open(invocation)
        try connection.watchStops()
        var replay = Playback(
            connection: connection,
            requests: requests,
            speed: speed,
            bar: ProgressBar(total: total, counting: "events", on: console.messages),
            report: reporter(reader.name)
        )
        do {
            try replay.run(&reader)
        } catch {
            replay.clear()
            throw ended(by: error, &replay, reader)
        }
        try summarize(replay.outcome, reader)
        if let cut = reader.cut {
            let fault = RecordingFault(cut.number, "the recording is cut off here: \(cut.message)")
            throw fault.error(in: reader.name, Self.played(replay.number))
        }
        let outcome = replay.outcome
        if outcome.refused > 0 {
            let all = outcome.refused + outcome.values + outcome.events
            throw CommandError(.refused, "\(outcome.refused) of \(all) events were refused")
        }
    }

    private static func played(_ number: Int) -> String {
        number == 0 ? "nothing was played" : "what stands up to line \(number) was played"
    }

    private func reader() throws -> RecordingReader {
        let requests = requests
        return try RecordingReader(path: path) { requests.fault(of: $0) }
    }

    /// Reads the file once to check that all of it can be played. Returns its size in events, or in
    /// milliseconds if the events are played at their times.
    private func checked() throws -> Int {
        var reader = try reader()
        do {
            while try reader.next({ _, _ in true }) != nil {}
        } catch let fault as RecordingFault {
            throw fault.error(in: reader.name, "nothing was played")
        }
        return speed.factor == nil ? Int(reader.events) : Int(reader.milliseconds)
    }

    private func ended(by error: any Error, _ replay: inout Playback, _ reader: borrowing RecordingReader)
        -> any Error
    {
        switch error {
        case let fault as RecordingFault:
            do { try replay.settle() } catch { return error }
            return fault.error(in: reader.name, Self.played(replay.number))
        case is Interrupted:
            return CommandError(.refused, "stopped after line \(replay.number) of \(reader.name)")
        case let error as CommandError:
            let message = "\(error.message), after line \(replay.number) of \(reader.name)"
            return CommandError(error.status, message, hints: error.hints)
        default: return error
        }
    }

    private func reporter(_ name: String) -> (Int, String) -> Void {
        var count = 0
        return { number, message in
            count += 1
            if count <= Self.reportsMax { console.say("\(name):\(number): \(message)") }
            if count == Self.reportsMax + 1 { console.say("…") }
        }
    }

    private func summarize(_ outcome: Playback.Outcome, _ reader: borrowing RecordingReader) throws {
        tellNotes(outcome, missing: reader.missing)
        if invocation.has(.json) {
            try console.output.line(
                """
                {"values":\(outcome.values),"events":\(outcome.events),"refused":\(outcome.refused),\
                "revision":\(outcome.revision)}
                """
            )
        } else {
            let played = "\(Plural.values(outcome.values)) and \(Plural.events(outcome.events))"
            try console.output.line("played \(played), revision \(outcome.revision)")
        }
    }

    private func tellNotes(_ outcome: Playback.Outcome, missing: UInt64) {
        let notes: [(UInt64, String)] = [
            (outcome.reserved, "left out: the key has a $ and is the broker's own"),
            (outcome.gone, "deleted a key that wasn't there"),
            (missing, "missing in the recording: too fast for it"),
        ]
        for (count, note) in notes where count > 0 { console.say("\(Plural.events(count)) \(note)") }
        if outcome.parted > 0 { console.say("\(outcome.parted) batches were too large and played in parts") }
    }

    private static func speed(_ invocation: Invocation) throws -> ReplaySpeed {
        guard let text = invocation.text(.speed) else { return .asRecorded }
        guard let speed = ReplaySpeed(parsing: text) else {
            throw CommandError.usage(
                "--speed is a number from 0.001 to 1000000, such as 10 or 0.5, or 0 or max; it was \"\(text)\""
            )
        }
        return speed
    }

    /// The prefix of the keys, with its dot.
    private static func prefix(_ invocation: Invocation) throws -> String {
        guard let text = invocation.text(.to) else { return "" }
        let key = try ValueArgument.key(text)
        guard !Key.isReserved(Array(key.utf8).span) else {
            throw CommandError.usage("--to \(key): keys with a $ are the broker's own")
        }
        return key + "."
    }
}
