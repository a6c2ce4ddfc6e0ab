// `subscribe --exec`: runs a command for each event. For one key at most one command runs at a time. While
// more events wait than there is room for, nothing is read from the broker, which keeps the newest of each
// key, or with `--all` each of them.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let executing = CommandOption(flag: "exec", "run the program after -- for each event")
    static let runLimit = CommandOption(
        "limit", "SECONDS", "with --exec: end a command that takes longer", .seconds
    )
    static let everyEvent = CommandOption(
        flag: "all", "with --exec: a command for each event, also when it falls behind"
    )
}

/// The commands for the events of a subscription.
struct EventRuns {
    private struct Event {
        let key: String
        let line: BrokerLine
        let name: String
    }

    /// While so many events wait, no more are read.
    private static let waitingMax = 256
    private static let jobsDefault = 4

    private let program: CommandProgram
    private let observation: ResumingConnection
    private let console: CommandConsole
    private let isRaw: Bool
    private let pointer: String?
    private let takesAll: Bool
    /// How many seconds a command may take.
    private let limit: Double?
    private let deadline: TimeLimit?
    private var signals: RunSignals
    private var runs: CommandRuns<Event>
    private var waiting: [Event] = []
    /// How many more events are taken.
    private var left: UInt64
    private var finished = 0
    private var failed = 0

    static func run(
        _ standing: ResumableRequest,
        _ observation: ResumingConnection,
        _ invocation: Invocation,
        _ console: CommandConsole
    ) throws {
        var work = try EventRuns(observation, invocation, console)
        try work.run(standing)
    }

    private init(_ observation: ResumingConnection, _ invocation: Invocation, _ console: CommandConsole)
        throws
    {
        self.observation = observation
        self.console = console
        program = try CommandProgram(invocation, observation.connection, isAnswer: false)
        isRaw = invocation.has(.raw)
        pointer = invocation.text(.field)
        takesAll = invocation.has(.everyEvent)
        limit = invocation.seconds(.runLimit)
        deadline = invocation.seconds(.duration).map { TimeLimit(seconds: $0) }
        signals = try RunSignals(observation.connection)
        let jobs = invocation.integer(.jobs).map { Int(clamping: $0) } ?? Self.jobsDefault
        runs = CommandRuns(jobs: jobs, observation.connection) { Self.tell($0, $1, console) }
        left = invocation.integer(.count) ?? .max
    }

    private mutating func run(_ standing: ResumableRequest) throws {
        defer { runs.kill() }
        do {
            try observation.ask(standing)
            try observation.connection.watchOutput()
            try work()
        } catch is Interrupted {
            return
        } catch let error as CommandError {
            try runs.finish(&signals)
            throw error
        }
        guard failed == 0 else {
            throw CommandError(.refused, "\(failed) of \(finished) commands failed")
        }
    }

    /// Whether no more events are taken.
    private var isOver: Bool { signals.isStopping || left == 0 || deadline?.isOver == true }

    /// Takes events, and runs commands until those that were begun have ended. Before the end without a
    /// signal, those that wait are run as well.
    private mutating func work() throws {
        while !isOver || !runs.isEmpty || !waiting.isEmpty && !signals.isStopping {
            do {
                try listen()
            } catch is Interrupted {
                if signals.take() { throw Interrupted() }
            }
            for (event, result) in runs.collect() { note(event, result) }
            try begin()
        }
    }

    private mutating func listen() throws {
        guard !isOver, waiting.count < Self.waitingMax else {
            if runs.isEmpty { return }
            return try observation.connection.waitForWatched(milliseconds: runs.milliseconds())
        }
        let milliseconds = runs.milliseconds(atMost: deadline.map { $0.milliseconds ?? 0 } ?? -1)
        if let line = try observation.nextLine(milliseconds: milliseconds) { take(line) }
    }

    private mutating func take(_ line: BrokerLine) {
        guard case .event(let name) = line.kind, let key = line["key"]?.string,
            ["update", "emit", "delete", "leave"].contains(name)
        else { return }
        left -= 1
        let event = Event(key: key, line: line, name: name)
        if !takesAll, let place = waiting.firstIndex(where: { $0.key == key }) {
            waiting[place] = event
        } else {
            waiting.append(event)
        }
    }

    /// Starts commands as long as there is room and a key without a command.
    private mutating func begin() throws {
        guard !signals.isStopping else { return }
        var busy = Set(runs.tasks.map(\.key))
        while runs.hasRoom, let place = waiting.firstIndex(where: { !busy.contains($0.key) }) {
            let event = waiting.remove(at: place)
            busy.insert(event.key)
            do {
                let start = program.start(for: event.line, event.name, cause: event.line["revision"]?.integer)
                try runs.begin(event, start, input: input(event), limit: limit)
            } catch let error as SystemError {
                (finished, failed) = (finished + 1, failed + 1)
                Self.tell(event, "\(error)", console)
            }
        }
    }

    private func input(_ event: Event) -> [UInt8] {
        let value = pointer.map { event.line["fields"]?.object?[$0] } ?? event.line["value"]
        return value.map { CommandText.input($0, isRaw: isRaw) } ?? []
    }

    private mutating func note(_ event: Event, _ result: RunResult) {
        finished += 1
        guard !result.isGood else { return }
        failed += 1
        Self.tell(event, result.text, console)
    }

    private static func tell(_ event: Event, _ text: String, _ console: CommandConsole) {
        console.say("\(SystemText.ofPlain(event.key)): \(text)")
    }
}
