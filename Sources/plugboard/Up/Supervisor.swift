// Keeps a broker and its plugins running, on one thread: signals and the children's
// output are polled, ends are looked for when SIGCHLD says so. Plugins start when
// the broker answers and stop before it does. Whatever way `run` is left, no child
// is left behind: letting go of a child ends it.

import PlugboardPosix

/// The loop of `up`.
final class Supervisor {
    /// From SIGTERM to SIGKILL.
    static let pluginGraceSeconds = 2.0
    /// The broker flushes for at most a second.
    static let brokerGraceSeconds = 4.0
    /// From the broker's start to its first answer.
    static let startSeconds = 10.0
    private static let signalToken: UInt64 = .max

    private let broker: SupervisedProcess
    private let plugins: [SupervisedProcess]
    private let signals: Signals
    private let view: UpView
    private let poller: any Poller
    private var watched: Set<UInt64> = []
    private var isReady = false
    /// What the broker said before it listened: why it doesn't, if it never does.
    private var brokerWords = ""
    private var isStopping = false
    private var isImpatient = false

    /// `broker` prints a line that is `ready` when it listens.
    init(broker: SupervisedProcess, plugins: [SupervisedProcess], signals: Signals, view: UpView) throws {
        self.broker = broker
        self.plugins = plugins
        self.signals = signals
        self.view = view
        poller = try PollerKind.standard.make()
        try poller.add(signals.raw, token: Self.signalToken, interest: .read)
    }

    /// Runs until a signal. `onReady` is called when the broker listens, before the first
    /// plugin starts. Throws where the broker can't be started, or is lost.
    func run(onReady: () throws -> Void) throws {
        try startBroker()
        if !isStopping {
            try onReady()
            for plugin in plugins { try start(plugin) }
        }
        while !isStopping, broker.isRunning {
            try turn(until: nextRestart())
            if view.isReaderGone { isStopping = true }
        }
        let wasLost = isReady && !broker.isRunning
        isStopping = true
        try stop(plugins, graceSeconds: Self.pluginGraceSeconds)
        try stop([broker], graceSeconds: Self.brokerGraceSeconds)
        if wasLost { throw CommandError(.refused, "the broker was lost") }
    }

    /// Returns when it listens, or a signal came. Throws where it ends instead, with its
    /// own words.
    private func startBroker() throws {
        try start(broker)
        let deadline = Deadline(seconds: Self.startSeconds)
        while !isReady, broker.isRunning, !isStopping {
            guard let left = deadline.milliseconds else {
                throw CommandError(.refused, "the broker doesn't begin to listen")
            }
            try turn(milliseconds: left)
        }
        guard isReady || isStopping else {
            throw CommandError(.refused, brokerWords.isEmpty ? "the broker didn't start" : brokerWords)
        }
    }

    private func start(_ process: SupervisedProcess) throws {
        if let news = process.begin() {
            tell(news, of: process)
        } else if let fd = process.outputFD {
            let token = token(of: process)
            try poller.add(fd, token: token, interest: .read)
            watched.insert(token)
        }
    }

    /// Asks all to end, waits, and makes those end that didn't.
    private func stop(_ processes: [SupervisedProcess], graceSeconds: Double) throws {
        for process in processes { process.signal(SIGTERM) }
        let deadline = Deadline(seconds: graceSeconds)
        while processes.contains(where: \.isRunning), let left = deadline.milliseconds, !isImpatient {
            try turn(milliseconds: left)
        }
        for process in processes where process.isRunning {
            view.tell(isImpatient ? "killed" : "didn't stop; killed", of: process.name)
            process.signal(SIGKILL)
        }
        while processes.contains(where: \.isRunning) { try turn(milliseconds: 100) }
    }

    private func turn(until nanoseconds: UInt64?) throws {
        guard let nanoseconds else { return try turn(milliseconds: -1) }
        let now = MonotonicClock.nanoseconds()
        let left = nanoseconds > now ? (nanoseconds - now + 999_999) / 1_000_000 : 0
        try turn(milliseconds: Int32(clamping: left))
    }

    /// One wait, and everything that it brought.
    private func turn(milliseconds: Int32) throws {
        var ready: [UInt64] = []
        try poller.wait(milliseconds: milliseconds) { ready.append($0.token) }
        for token in ready where token != Self.signalToken { read(process(token)) }
        if ready.contains(Self.signalToken) { takeSignals() }
        try restartDue()
    }

    private func read(_ process: SupervisedProcess) {
        let (lines, isOpen) = process.read()
        show(lines, of: process)
        if !isOpen { unwatch(process) }
    }

    private func show(_ lines: [String], of process: SupervisedProcess) {
        guard process === broker, !isReady else { return view.show(lines, of: process.name) }
        let words = lines.prefix { $0 != BrokerReady.line }
        brokerWords += words.map { $0.replacingPrefix("\(Program.name) broker: ", with: "") }.joined(
            separator: "\n"
        )
        guard words.count < lines.count else { return }
        isReady = true
        view.show(Array(lines[(words.count + 1)...]), of: process.name)
    }

    private func takeSignals() {
        while let number = signals.next() {
            if number == SIGCHLD {
                for process in [broker] + plugins { checkEnd(process) }
            } else if isStopping {
                isImpatient = true
            } else {
                isStopping = true
                if number == SIGINT { view.interrupted() }
            }
        }
    }

    private func checkEnd(_ process: SupervisedProcess) {
        guard let news = process.checkEnd() else { return }
        unwatch(process)
        show(process.close(), of: process)
        tell(news, of: process)
    }

    private func tell(_ news: SupervisedProcess.News, of process: SupervisedProcess) {
        guard !isStopping else { return }
        switch news {
        case .finished(let reason) where process === broker: tellLoss(reason)
        case .finished(let reason): view.tell(reason, of: process.name)
        case .crashed(let reason, let delay):
            view.tell("\(reason); starting it again in \(Self.seconds(delay))", of: process.name)
        }
    }

    /// A broker that is lost takes what it kept with it, and plugins that are done won't
    /// publish again: a bus that is half there would be worse than none.
    private func tellLoss(_ reason: String) {
        guard isReady else { return }
        view.tell("\(reason): the bus is gone with all it kept; stopping", of: broker.name)
    }

    private func restartDue() throws {
        guard !isStopping else { return }
        let now = MonotonicClock.nanoseconds()
        for plugin in plugins {
            if case .waiting(let moment) = plugin.state, moment <= now { try start(plugin) }
        }
    }

    private func nextRestart() -> UInt64? {
        plugins.compactMap { plugin in
            if case .waiting(let moment) = plugin.state { moment } else { nil }
        }.min()
    }

    private func unwatch(_ process: SupervisedProcess) {
        guard watched.remove(token(of: process)) != nil, let fd = process.outputFD else { return }
        poller.remove(fd)
    }

    private func token(of process: SupervisedProcess) -> UInt64 {
        process === broker ? 0 : UInt64((plugins.firstIndex { $0 === process } ?? 0) + 1)
    }

    private func process(_ token: UInt64) -> SupervisedProcess {
        token == 0 ? broker : plugins[Int(token) - 1]
    }

    /// `0.2 s`.
    static func seconds(_ seconds: Double) -> String {
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
