// Keeps a broker and its plugins running, on one thread. It polls signals, the children's output
// and its own connection to the bus, and reaps children when SIGCHLD comes. Plugins start when the
// broker answers, and stop before the broker. A broker that dies is started again if it has a journal,
// and resumes from it. However `run` ends, no child is left behind, because releasing a child ends it.

import PlugboardPosix
import PlugboardWire

/// The loop of `up`.
final class Supervisor {
    /// The time from SIGTERM to SIGKILL for a plugin.
    static let pluginGraceSeconds = 2.0
    /// The same for the broker, which needs at most a second to send what waits.
    static let brokerGraceSeconds = 4.0
    /// The longest time from the broker's start to its first answer.
    static let startSeconds = 120.0
    private static let signalToken: UInt64 = .max
    private static let deskToken: UInt64 = .max - 1
    private static let viewToken: UInt64 = .max - 2

    private(set) var plugins: [SupervisedProcess]
    let view: UpView
    let source: PluginSource
    /// The client of `up`; nil until the broker listens.
    private(set) var desk: SupervisorClient?
    private(set) var isStopping = false
    private let broker: SupervisedProcess
    /// The process that plays the demo; not a plugin.
    private let player: SupervisedProcess?
    private let signals: Signals
    private let terminal = ControllingTerminal()
    private let clock: SupervisorClock
    private let poller: any Poller
    /// The events for which the desk's connection is polled; nil if it isn't polled.
    private var deskInterest: Interest?
    /// When to try to connect again.
    private var deskDueNanoseconds: UInt64?
    /// When it last tried.
    private var deskTriedNanoseconds: UInt64 = 0
    /// The children whose output is polled, by the descriptor.
    private var watched: [UInt64: SupervisedProcess] = [:]
    /// Whether the broker's present process serves.
    private var isReady = false
    /// Whether a broker has ever served.
    private var hasServed = false
    /// The broker's output before it serves. If it never serves, this output says why.
    private var brokerLines: [String] = []
    private var stopWish = StopRequest()
    private var isImpatient = false
    /// The service manager, to which signs of life are sent.
    private let manager: ServiceNotice?
    /// When to ask the broker for its next sign of life.
    private var heartbeatDueNanoseconds: UInt64?

    /// `broker` prints a line that is `ready` when it listens.
    init(
        broker: SupervisedProcess,
        plugins: [SupervisedProcess],
        source: PluginSource,
        player: SupervisedProcess? = nil,
        signals: Signals,
        view: UpView,
        manager: ServiceNotice? = nil,
        clock: SupervisorClock = SupervisorClock()
    ) throws {
        self.manager = manager
        self.broker = broker
        self.plugins = plugins
        self.source = source
        self.player = player
        self.signals = signals
        self.view = view
        self.clock = clock
        poller = try PollerKind.standard.make()
        try poller.add(signals.raw, token: Self.signalToken, interest: .read)
    }

    /// Runs until a signal. `onReady` is called when the broker listens, before the first plugin
    /// starts, and returns the desk. Throws if the broker can't be started, or is lost.
    func run(onReady: () throws -> SupervisorClient) throws {
        try startBroker()
        if !isStopping {
            do {
                desk = try onReady()
            } catch {
                // A broker that is killed leaves its socket.
                isStopping = true
                try stop([broker], graceSeconds: Self.brokerGraceSeconds)
                throw error
            }
            for plugin in plugins { try introduce(plugin) }
            if let player { try start(player) }
            manager?.ready()
            heartbeatDueNanoseconds = manager?.heartbeatNanoseconds.map { _ in clock.nanoseconds() }
        }
        while !isStopping, !isBrokerLost {
            try turn()
            if view.isReaderGone { isStopping = true }
        }
        let wasLost = hasServed && isBrokerLost
        isStopping = true
        manager?.stopping()
        try stop(plugins + [player].compactMap(\.self), graceSeconds: Self.pluginGraceSeconds)
        closeDesk()
        try stop([broker], graceSeconds: Self.brokerGraceSeconds)
        if wasLost { throw CommandError(.refused, "the broker was lost") }
    }

    /// Adds a plugin.
    func add(_ plugin: SupervisedProcess) throws {
        plugins.append(plugin)
        view.expect([plugin.name])
        try introduce(plugin)
    }

    /// Drops removed plugins once they have ended.
    func dismissLeaving() {
        for plugin in plugins where plugin.isLeaving && !plugin.isAlive { desk?.withdraw(plugin) }
        plugins.removeAll { $0.isLeaving && !$0.isAlive }
    }

    /// Starts a plugin, or publishes that it starts on demand, or when somebody asks for it.
    private func introduce(_ plugin: SupervisedProcess) throws {
        if plugin.terms.isOff {
            view.tell("is switched off: plugboard plugins start \(plugin.name)", of: plugin.name)
        }
        if plugin.state == .stopped || plugin.idleSeconds != nil {
            publish(plugin)
        } else {
            try start(plugin)
        }
    }

    /// Starts a child and begins to poll its output. For a plugin, reads its plugin.json again first.
    func start(_ process: SupervisedProcess, byHand: Bool = false) throws {
        readAgain(process)
        let news = process.begin(byHand: byHand)
        publish(process)
        if let news {
            tell(news, of: process)
        } else if let fd = process.outputFD {
            try poller.add(fd, token: UInt64(fd), interest: .read)
            watched[UInt64(fd)] = process
        }
    }

    /// Applies its present plugin.json. If that can't be applied, nothing changes.
    private func readAgain(_ process: SupervisedProcess) {
        do throws(PluginProblem) {
            if let terms = try source.terms(of: process) { _ = process.adopt(terms) }
            process.problem = nil
        } catch {
            process.problem = "started as before: \(error)"
            view.tell("started as before: \(error)", of: process.name)
        }
    }

    /// Returns when the broker listens, or when a signal has come. If the broker ends instead, throws an
    /// error with the broker's output.
    private func startBroker() throws {
        try start(broker)
        let deadline = clock.nanoseconds(afterSeconds: Self.startSeconds)
        while !isReady, broker.isRunning, !isStopping {
            guard clock.nanoseconds() < deadline else {
                throw CommandError(.refused, "the broker doesn't begin to serve")
            }
            try turn(until: deadline)
        }
        guard isReady || isStopping else {
            let words = brokerLines.map { $0.replacingPrefix("\(Program.name) broker: ", with: "") }
            throw CommandError(
                brokerStatus,
                words.isEmpty ? "the broker didn't start" : words.joined(separator: "\n")
            )
        }
    }

    /// The status for a broker that didn't begin to serve: its own, if it is one.
    private var brokerStatus: ExitStatus {
        guard case .exited(let code) = broker.end, let status = ExitStatus(rawValue: code), status != .done
        else { return .refused }
        return status
    }

    /// Asks all of them to end, waits, and kills those that haven't ended.
    private func stop(_ processes: [SupervisedProcess], graceSeconds: Double) throws {
        for process in processes {
            process.stop(graceSeconds: graceSeconds)
            publish(process)
        }
        while processes.contains(where: \.isAlive) {
            if isImpatient {
                for process in processes { kill(process, "killed") }
            }
            try turn()
        }
    }

    private func kill(_ process: SupervisedProcess, _ text: String) {
        guard process.kill() else { return }
        view.tell(text, of: process.name)
    }

    /// Waits once, at most until this time or the next due action, and handles everything that has come.
    private func turn(until limit: UInt64? = nil) throws {
        try watchDesk()
        try view.keepUp(poller, token: Self.viewToken)
        var ready: [UInt64] = []
        let moments = children.filter { !isStopping || $0.isAlive }.compactMap(\.dueNanoseconds)
        let own = [limit, deskDueNanoseconds, heartbeatDueNanoseconds].compactMap { $0 }
        let wait = milliseconds(until: (moments + own).min())
        try poller.wait(milliseconds: wait) { ready.append($0.token) }
        for token in ready { if let process = watched[token] { read(process) } }
        if ready.contains(Self.deskToken) { try serveDesk() }
        if ready.contains(Self.signalToken) { try takeSignals() }
        try doDue()
    }

    /// The time-out in milliseconds, rounded up; negative for none.
    private func milliseconds(until moment: UInt64?) -> Int32 {
        guard let moment else { return -1 }
        let now = clock.nanoseconds()
        return moment > now ? Int32(clamping: (moment - now) / 1_000_000 + 1) : 0
    }

    /// Updates the events for which the desk's connection is polled.
    private func watchDesk() throws {
        guard let desk else { return }
        guard !desk.isGone else { return loseDesk(desk) }
        guard deskInterest != desk.interest else { return }
        if deskInterest == nil {
            try poller.add(desk.fd, token: Self.deskToken, interest: desk.interest)
        } else {
            try poller.change(desk.fd, token: Self.deskToken, interest: desk.interest)
        }
        deskInterest = desk.interest
    }

    /// Connects again if the connection is lost although the broker runs: a pause after the last attempt, so at
    /// once if the connection has lasted. Until then, calls of the plugins' keys find nobody.
    private func loseDesk(_ desk: SupervisorClient) {
        if deskInterest != nil { poller.remove(desk.fd) }
        deskInterest = nil
        guard deskDueNanoseconds == nil else { return }
        deskDueNanoseconds = deskTriedNanoseconds + UInt64(desk.nextPauseSeconds() * 1e9)
    }

    private func connectDeskAgain(_ now: UInt64) {
        guard let desk, let due = deskDueNanoseconds, due <= now else { return }
        (deskDueNanoseconds, deskTriedNanoseconds) = (nil, now)
        guard desk.connectAgain() else { return loseDesk(desk) }
        for plugin in plugins { desk.tell(plugin) }
    }

    /// Asks the broker for a sign of life if it is time. The service manager gets one only when the broker
    /// has answered, so that it restarts a broker that hangs.
    private func askWhetherAlive(_ now: UInt64) {
        guard let due = heartbeatDueNanoseconds, due <= now, let pause = manager?.heartbeatNanoseconds else {
            return
        }
        heartbeatDueNanoseconds = isStopping ? nil : now + pause
        desk?.askWhetherAlive()
    }

    /// Notes that the broker has answered.
    func noteAlive() {
        manager?.alive()
    }

    private func closeDesk() {
        if deskInterest != nil, let desk { poller.remove(desk.fd) }
        deskInterest = nil
        deskDueNanoseconds = nil
        desk = nil
    }

    private func publish(_ process: SupervisedProcess) {
        if process !== broker, process !== player { desk?.tell(process) }
    }

    private func read(_ process: SupervisedProcess) {
        let (lines, isOpen) = process.read()
        show(lines, of: process)
        if !isOpen { unwatch(process) }
    }

    private func show(_ lines: [String], of process: SupervisedProcess) {
        guard process === broker, !isReady else { return view.show(lines, of: process.name) }
        let before = lines.prefix { $0 != BrokerReady.line }
        if hasServed { view.show(Array(before), of: process.name) } else { brokerLines += before }
        guard before.count < lines.count else { return }
        view.show((hasServed ? [] : brokerLines) + lines[(before.count + 1)...], of: process.name)
        if hasServed {
            view.tell("it serves again", of: process.name)
            // The broker limits the plugins as soon as it has been told of them.
            if deskDueNanoseconds != nil { deskDueNanoseconds = clock.nanoseconds() }
        }
        (isReady, hasServed) = (true, true)
    }

    /// Whether the broker has ended and isn't started again.
    private var isBrokerLost: Bool {
        if case .waiting = broker.state { return false }
        return !broker.isRunning
    }

    private func takeSignals() throws {
        while let number = signals.next() {
            if number == SIGCHLD {
                try checkEnds()
            } else if number == SIGUSR2 || number == SIGHUP && !terminal.isGone {
                passOn(number)
            } else {
                if stopWish.take(at: clock.nanoseconds()) { isImpatient = true }
                if !isStopping, number == SIGINT { view.interrupted() }
                isStopping = true
            }
        }
    }

    /// SIGHUP is for the broker, which reads its policy again, and so is SIGUSR2, with which it begins
    /// anew. Before the broker listens, the signal could end it.
    private func passOn(_ number: Int32) {
        guard isReady, broker.isRunning, let pid = broker.pid else { return }
        try? Signals.send(number, to: pid)
    }

    /// Looks which children have ended, and drops those that are done with.
    private func checkEnds() throws {
        for process in children { try checkEnd(process) }
        Orphans.reap { pid in children.contains { $0.pid == pid } }
        dismissLeaving()
    }

    private func checkEnd(_ process: SupervisedProcess) throws {
        guard let news = process.checkEnd() else { return }
        unwatch(process)
        show(process.close(), of: process)
        if process === broker { isReady = false }
        if news == .stopped, process.beginsAgain, !isStopping {
            return try start(process, byHand: true)
        }
        publish(process)
        tell(news, of: process)
    }

    private func tell(_ news: SupervisedProcess.News, of process: SupervisedProcess) {
        // A broker that can't begin to serve says why; that ends `up`.
        guard !isStopping, hasServed || process !== broker else { return }
        switch news {
        case .ended(let reason) where process === broker: tellLoss(reason)
        case .broken(let reason) where process === broker: tellLoss(reason)
        case .ended(let reason): view.tell(reason, of: process.name)
        case .crashed(let reason, let delay):
            view.tell("\(reason); starting it again in \(Self.seconds(delay))", of: process.name)
        case .broken(let reason):
            let starts = "\(RestartPolicy.startsMax) starts in \(Int(RestartPolicy.windowSeconds)) s"
            let command =
                "\(Program.spelling) plugins start \(ShellWord.quoted(process.name))"
                + CommandOption.socketWords(view.socket)
            view.tell("\(reason); broken after \(starts), until: \(command)", of: process.name)
        case .stopped: view.tell("stopped", of: process.name)
        }
    }

    /// Without a journal, all values are gone with the broker, and plugins that have ended don't publish
    /// theirs again. So `up` ends, too: a bus with only some of its values would mislead its clients. With a
    /// journal it ends only if the broker crashes too often, or if somebody asked the broker to end.
    private func tellLoss(_ reason: String) {
        view.tell("\(reason): the bus is gone; stopping", of: broker.name)
    }

    /// Starts children whose delay is over, kills those whose time to end is over, and sees what else has ended.
    private func doDue() throws {
        let now = clock.nanoseconds()
        connectDeskAgain(now)
        askWhetherAlive(now)
        let due = children.filter { process in process.dueNanoseconds.map { $0 <= now } ?? false }
        for process in due where process.isOverdue(now) { kill(process, "didn't stop; killed") }
        for process in due where !process.isAlive && !isStopping { try start(process) }
        if due.contains(where: \.isAlive) { try checkEnds() }
    }

    private func unwatch(_ process: SupervisedProcess) {
        guard let fd = process.outputFD, watched.removeValue(forKey: UInt64(fd)) != nil else { return }
        poller.remove(fd)
    }

    /// All children.
    private var children: [SupervisedProcess] { [broker] + plugins + [player].compactMap(\.self) }

    /// `0.2 s`.
    static func seconds(_ seconds: Double) -> String {
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
