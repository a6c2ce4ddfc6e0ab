// The runs of one command, several at the same time. What they write and how they end wakes the wait for the
// broker's next line, so everything happens on one thread.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let jobs = CommandOption(
        "jobs",
        "N",
        "how many commands may run at the same time (serve: 1, subscribe: 4)",
        .integer(1...CommandProgram.jobsMax)
    )
}

/// The program that a command line names after `--`, and what all its runs get.
struct CommandProgram {
    static let jobsMax = 256
    /// The variables that describe an event. Those that an event doesn't have are removed.
    private static let eventVariables = [
        "PLUGBOARD_EVENT", "PLUGBOARD_KEY", "PLUGBOARD_REVISION", "PLUGBOARD_BY", CauseVariable.name,
    ]

    private let path: String
    private let arguments: [String]
    private let environment: [String]
    private let isAnswer: Bool

    /// `isAnswer` says that the standard output is collected. Otherwise it goes where this program's goes.
    init(_ invocation: Invocation, _ connection: BrokerConnection, isAnswer: Bool) throws(CommandError) {
        path = try ProgramSearch.path(of: invocation.command.first ?? "")
        arguments = Array(invocation.command.dropFirst())
        let own = ["PLUGBOARD_SOCKET": connection.path]
            .merging(invocation.text(.peer).map { [TrustedUsers.variable: $0] } ?? [:]) { _, new in new }
            .merging(invocation.text(.clientName).map { ["PLUGBOARD_NAME": $0] } ?? [:]) { _, new in new }
        let names = Self.eventVariables + own.keys
        environment =
            Environment.all().filter { entry in !names.contains { entry.utf8.starts(with: "\($0)=".utf8) } }
            + own.map { "\($0.key)=\($0.value)" }
        self.isAnswer = isAnswer
    }

    /// The start for an event. `cause` is what its writes name as their cause.
    func start(for line: BrokerLine, _ event: String, cause: UInt64?) -> ChildStart {
        let texts = [
            "PLUGBOARD_EVENT": event, "PLUGBOARD_KEY": line["key"]?.string,
            "PLUGBOARD_BY": line["by"]?.string,
            "PLUGBOARD_REVISION": line["revision"]?.text, CauseVariable.name: cause.map { "\($0)" },
        ]
        var start = ChildStart(
            program: path,
            arguments: arguments,
            environment: environment + texts.compactMap { name, text in text.map { "\(name)=\($0)" } },
            output: isAnswer ? .outputPiped : .inherited
        )
        start.takesInput = true
        return start
    }
}

/// The commands that run now, each for a task.
struct CommandRuns<Task> {
    let jobs: Int
    private let connection: BrokerConnection
    private var running: [(task: Task, run: CommandRun, time: RunTime)] = []
    /// Says something about the command of a task.
    private let tell: (Task, String) -> Void

    init(jobs: Int, _ connection: BrokerConnection, tell: @escaping (Task, String) -> Void) {
        self.jobs = jobs
        self.connection = connection
        self.tell = tell
    }

    var isEmpty: Bool { running.isEmpty }
    var hasRoom: Bool { running.count < jobs }
    /// What commands run for.
    var tasks: [Task] { running.map(\.task) }

    /// How long to wait for anything else, in milliseconds, until a command's time is over; -1 if for ever.
    func milliseconds(atMost most: Int32 = -1) -> Int32 {
        let now = MonotonicClock.nanoseconds()
        let waits = running.compactMap(\.time.due).map { due in
            Int32(clamping: (due - min(now, due) + 999_999) / 1_000_000)
        }
        return (waits + (most < 0 ? [] : [most])).min() ?? -1
    }

    /// Starts a command. After `limit` seconds, it is ended. Throws `SystemError` if it can't be started.
    mutating func begin(_ task: Task, _ start: ChildStart, input: [UInt8], limit: Double?) throws {
        let run = try CommandRun(start, input: input)
        run.move { _ in }
        if let fd = run.inputFD { try connection.watch(fd, for: .write) }
        if let fd = run.outputFD { try connection.watch(fd) }
        running.append((task, run, RunTime(limit: limit, start: MonotonicClock.nanoseconds())))
    }

    /// Moves bytes, and takes those that have ended, in the order of their starts. Ends those whose time is
    /// over.
    mutating func collect() -> [(task: Task, result: RunResult)] {
        var ended: [(Task, RunResult)] = []
        var left: [(Task, CommandRun, RunTime)] = []
        for (task, run, time) in running {
            run.move(connection.unwatch)
            if var result = run.result(connection.unwatch) {
                if time.isOver { result.passedLimit = time.limit }
                ended.append((task, result))
            } else {
                left.append((task, run, passed(time, run, task)))
            }
        }
        running = left
        return ended
    }

    /// Does what is due for a command that still runs.
    private func passed(_ time: RunTime, _ run: CommandRun, _ task: Task) -> RunTime {
        var time = time
        switch time.take(at: MonotonicClock.nanoseconds()) {
        case .tell: tell(task, "the command still runs, after \(Int(RunTime.longSeconds)) seconds")
        case .end: run.end()
        case .kill: run.kill()
        case nil: break
        }
        return time
    }

    /// Waits until all have ended, when the broker is gone. Ends early if the person doesn't want to wait.
    mutating func finish(_ signals: inout RunSignals) throws {
        while !isEmpty {
            do {
                try connection.waitForWatched(milliseconds: milliseconds())
            } catch is Interrupted {
                if signals.take() { return }
            }
            _ = collect()
        }
    }

    /// Kills all.
    func kill() {
        for (_, run, _) in running { run.kill() }
    }
}

/// The signals for programs that run commands: a child's end, and the wish to stop. One in a program's life.
struct RunSignals {
    private let signals: Signals
    private var wish = StopRequest()

    /// Makes waits for the broker end when a signal comes.
    init(_ connection: BrokerConnection) throws {
        signals = try Signals(catching: [SIGCHLD, SIGINT, SIGTERM, SIGHUP])
        try connection.watch(signals.raw)
    }

    /// Whether this program was asked to stop.
    var isStopping: Bool { wish.isThere }

    /// Takes the signals that came. Returns true if the person doesn't want to wait any longer.
    mutating func take() -> Bool {
        var isImpatient = false
        while let number = signals.next() {
            if number != SIGCHLD, wish.take(at: MonotonicClock.nanoseconds()) { isImpatient = true }
        }
        return isImpatient
    }
}
