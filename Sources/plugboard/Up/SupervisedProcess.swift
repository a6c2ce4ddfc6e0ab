// One child of `up` through all its runs: it is started, read, reaped, restarted and stopped. It
// knows nothing of the other children; the supervisor calls it.

import PlugboardPosix

/// A supervised child process.
final class SupervisedProcess {
    enum State: Equatable {
        case running
        /// Asked to end. It is killed at that moment of the monotonic clock; nil: it has been.
        case stopping(killAtNanoseconds: UInt64?)
        /// Crashed; to be started again at that moment of the monotonic clock.
        case waiting(untilNanoseconds: UInt64)
        /// Ended by itself, for good.
        case ended
        /// Ended too often.
        case broken
        /// Ended, or not started again, because somebody asked for that.
        case stopped
        /// Not started, because no client needs it.
        case idle
    }

    /// What happened to a child that was looked at.
    enum News: Equatable {
        /// Ended for good; how, in words.
        case ended(String)
        /// Crashed or couldn't be started; the delay before the next start in seconds.
        case crashed(String, again: Double)
        /// Crashed once too often.
        case broken(String)
        /// Ended as it was asked to.
        case stopped
    }

    /// After how many seconds without demand one is stopped, by default.
    static let idleSecondsDefault: UInt64 = 30

    let name: String
    /// The terms for its next start. What it may do applies at once.
    private(set) var terms: ChildTerms
    /// Why its earlier plugin.json still applies; nil if the present one does.
    var problem: String?
    /// The plugin no longer exists: its child is dropped when it has ended.
    var isLeaving = false
    /// Some client needs it.
    private var isWanted = false
    /// It is being stopped because nobody does.
    private var fallsIdle = false
    private(set) var state = State.ended
    /// When the state began: milliseconds since 1970.
    private(set) var sinceMilliseconds: UInt64
    /// Starts after the first one.
    var restarts: Int { max(0, starts - 1) }
    /// How it last ended; nil if it never did or couldn't be started.
    private(set) var end: ChildEnd?
    /// The same in words.
    private(set) var endText: String?
    /// What it printed last.
    private(set) var log = PluginLog()
    /// To be started again as soon as it has stopped.
    private(set) var beginsAgain = false
    private let doneText: String
    private let clock: SupervisorClock
    private var policy: RestartPolicy
    private var child: ChildProcess?
    private var lines = OutputLines()
    private var starts = 0
    /// Its process is held.
    private(set) var isHeld = false

    /// `doneText` is how to tell that it ended with status 0.
    init(
        name: String,
        terms: ChildTerms,
        doneText: String = "is done",
        clock: SupervisorClock = SupervisorClock()
    ) {
        self.name = name
        self.terms = terms
        self.doneText = doneText
        if terms.idleSeconds != nil { state = .idle }
        self.clock = clock
        policy = RestartPolicy(terms.rule)
        sinceMilliseconds = clock.wallMilliseconds()
    }

    /// What it may do on the bus, as JSON; nil: whatever other clients may.
    var permission: [UInt8]? { terms.permission }

    /// It starts on demand, and is stopped after this many seconds without demand.
    var idleSeconds: UInt64? { terms.idleSeconds }

    /// Applies other terms from now on. A running process stays as it was started. True if the new
    /// terms require a start.
    func adopt(_ terms: ChildTerms) -> Bool {
        self.terms = terms
        policy.rule = terms.rule
        return state == .idle && terms.idleSeconds == nil
    }

    /// What it prints; nil while it isn't running.
    var outputFD: Int32? { child?.outputFD ?? nil }

    /// Nil while it isn't running.
    var pid: Int32? { isAlive ? child?.pid : nil }

    var isRunning: Bool { state == .running }

    /// There is a process.
    var isAlive: Bool {
        switch state {
        case .running, .stopping: true
        case .waiting, .ended, .broken, .stopped, .idle: false
        }
    }

    /// When there is something to do about it, if ever.
    var dueNanoseconds: UInt64? {
        switch state {
        case .waiting(let moment): moment
        case .stopping(let moment): moment
        case .running, .ended, .broken, .stopped, .idle: nil
        }
    }

    /// Starts it. If that fails, it counts as a crash. `byHand`: earlier crashes don't count.
    func begin(byHand: Bool = false) -> News? {
        if byHand { policy.forget() }
        (beginsAgain, fallsIdle) = (false, false)
        policy.started(atNanoseconds: clock.nanoseconds())
        starts += 1
        do {
            child = try ChildProcess(starting: terms.start)
            isHeld = terms.start.isHeld
            change(to: .running)
            return nil
        } catch {
            end = nil
            return ended("can't be started: \(error)", succeeded: false)
        }
    }

    /// Releases a process that was started held.
    func release() {
        isHeld = false
        child?.release()
    }

    /// Asks it to end within the time, and then perhaps starts it again. If it waits for its next
    /// start, it stays stopped. Without a process it stays as it is.
    func stop(graceSeconds: Double, thenBegin: Bool = false) {
        fallsIdle = false
        switch state {
        case .running:
            signal(SIGTERM)
            change(to: .stopping(killAtNanoseconds: clock.nanoseconds(afterSeconds: graceSeconds)))
            beginsAgain = thenBegin
        case .stopping: beginsAgain = thenBegin
        case .waiting, .idle: change(to: .stopped)
        case .ended, .broken, .stopped: break
        }
    }

    /// Notes whether a client needs it. True if it has to be started for that.
    func want(_ isWanted: Bool, graceSeconds: Double) -> Bool {
        guard idleSeconds != nil else { return false }
        self.isWanted = isWanted
        switch (state, isWanted) {
        case (.idle, true): return true
        case (.running, false):
            stop(graceSeconds: graceSeconds)
            fallsIdle = true
        case (.stopping, true) where fallsIdle: beginsAgain = true
        case (.waiting, false): change(to: .idle)
        default: break
        }
        return false
    }

    /// Kills it at once; false if that was done before, or it isn't there.
    func kill() -> Bool {
        guard isAlive, state != .stopping(killAtNanoseconds: nil) else { return false }
        signal(SIGKILL)
        change(to: .stopping(killAtNanoseconds: nil))
        return true
    }

    private static let readBytes = 16_384

    /// Takes what it printed: finished lines, and whether there may be more later.
    func read() -> (lines: [String], isOpen: Bool) {
        guard let fd = outputFD else { return ([], false) }
        let (transfer, bytes) = PipeCalls.read(fd, upTo: Self.readBytes)
        let taken = lines.take(bytes)
        log.append(taken)
        switch transfer {
        case .bytes, .wouldBlock: return (taken, true)
        case .ended, .failed: return ([], false)
        }
    }

    /// Whether it ended, and if so what follows.
    func checkEnd() -> News? {
        guard let end = child?.end() ?? nil else { return nil }
        self.end = end
        if case .stopping = state {
            endText = "\(end)"
            change(to: fallsIdle ? .idle : .stopped)
            return .stopped
        }
        return ended(end == .exited(0) ? doneText : "\(end)", succeeded: end == .exited(0) && !isWanted)
    }

    /// Drops a child that ended, and returns the rest of its output.
    func close() -> [String] {
        var last: [String] = []
        // Another process may keep writing to the pipe; that must not delay us for ever.
        for _ in 0..<64 {
            let (lines, isOpen) = drain()
            last += lines
            if !isOpen { break }
        }
        if let line = lines.finish() { last.append(line) }
        child = nil
        log.append(last)
        return last
    }

    /// Sends a signal to it and everyone in its group.
    private func signal(_ number: Int32) {
        child?.signalGroup(number)
    }

    /// Reads once; false if nothing is left for now.
    private func drain() -> (lines: [String], isOpen: Bool) {
        guard let fd = outputFD else { return ([], false) }
        guard case (.bytes, let bytes) = PipeCalls.read(fd, upTo: Self.readBytes) else { return ([], false) }
        return (lines.take(bytes), true)
    }

    private func ended(_ reason: String, succeeded: Bool) -> News {
        endText = end.map { "\($0)" } ?? reason
        let now = clock.nanoseconds()
        switch policy.ended(succeeded: succeeded, atNanoseconds: now, chance: clock.chance()) {
        case .finished:
            change(to: idleSeconds == nil || end != .exited(0) ? .ended : .idle)
            return .ended(reason)
        case .again(let seconds):
            change(to: .waiting(untilNanoseconds: clock.nanoseconds(afterSeconds: seconds)))
            return .crashed(reason, again: seconds)
        case .broken:
            change(to: .broken)
            return .broken(reason)
        }
    }

    private func change(to state: State) {
        self.state = state
        sinceMilliseconds = clock.wallMilliseconds()
    }
}
