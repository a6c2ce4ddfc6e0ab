// One child of `up` through all its runs: starts it, reads its output, reaps it, restarts it and stops it.
// The supervisor owns it and calls it. It knows nothing of the other children.

import PlugboardPosix

/// A supervised child process.
final class SupervisedProcess {
    enum State: Equatable {
        case running
        /// Asked to end. It will be killed at this time of the monotonic clock; nil if it was killed already.
        case stopping(killAtNanoseconds: UInt64?)
        /// Crashed. It will be started again at this time of the monotonic clock.
        case waiting(untilNanoseconds: UInt64)
        /// Ended by itself, and won't be started again.
        case ended
        /// Crashed too often.
        case broken
        /// Ended, or not started again, on request.
        case stopped
        /// Not started, because no client needs it.
        case idle
    }

    /// The result of a check of a child.
    enum News: Equatable {
        /// Ended, and won't be started again. The text says how it ended.
        case ended(String)
        /// Crashed, or couldn't be started. The next start is after this delay in seconds.
        case crashed(String, again: Double)
        /// Crashed too often.
        case broken(String)
        /// Ended on request.
        case stopped
    }

    /// After how many seconds without demand a child is stopped by default.
    static let idleSecondsDefault: UInt64 = 30

    let name: String
    /// The terms for its next start. Its rights apply at once.
    private(set) var terms: ProcessSpec
    /// The mistake in the present plugin.json, because of which an earlier one still applies; nil if there is
    /// none.
    var problem: String?
    /// Whether the plugin no longer exists. Then its child is dropped when it has ended.
    var isLeaving = false
    /// Whether a client needs it.
    private var isWanted = false
    /// Whether it is being stopped because no client needs it.
    private var fallsIdle = false
    private(set) var state = State.ended
    /// When the present state began, in milliseconds since 1970.
    private(set) var sinceMilliseconds: UInt64
    /// How often it was started after the first time.
    var restarts: Int { max(0, starts - 1) }
    /// How it last ended; nil if it never ended or couldn't be started.
    private(set) var end: ChildEnd?
    /// The same in words.
    private(set) var endText: String?
    /// The last lines of its output.
    private(set) var log: PluginLog
    /// Whether to start it again as soon as it has stopped.
    private(set) var beginsAgain = false
    private let doneText: String
    private let clock: SupervisorClock
    private var policy: RestartPolicy
    private var child: ChildProcess?
    private var lines = OutputLines()
    private var starts = 0
    /// When to see whether everything that it started has ended, too; nil if there is nothing to see.
    private var lookNanoseconds: UInt64?
    /// Whether its process is held.
    private(set) var isHeld = false

    /// `doneText` is the text for an end with status 0.
    init(
        name: String,
        terms: ProcessSpec,
        doneText: String = "is done",
        clock: SupervisorClock = SupervisorClock()
    ) {
        self.name = name
        self.terms = terms
        self.doneText = doneText
        if terms.idleSeconds != nil { state = .idle }
        if terms.isOff { state = .stopped }
        self.clock = clock
        policy = RestartPolicy(terms.rule)
        sinceMilliseconds = clock.wallMilliseconds()
        log = PluginLog(atMilliseconds: sinceMilliseconds)
    }

    /// Its rights on the bus, as JSON; nil if it may do what other clients may.
    var permission: [UInt8]? { terms.permission }

    /// For a child that starts on demand: after how many seconds without demand it is stopped. Otherwise nil.
    var idleSeconds: UInt64? { terms.idleSeconds }

    /// Applies other terms from now on. A running process stays as it was started. Returns true if the child
    /// has to be started under the new terms.
    func adopt(_ terms: ProcessSpec) -> Bool {
        let isSwitchedOn = self.terms.isOff && !terms.isOff && starts == 0
        self.terms = terms
        policy.rule = terms.rule
        if isSwitchedOn, terms.idleSeconds != nil { change(to: .idle) }
        return (state == .idle || isSwitchedOn) && terms.idleSeconds == nil
    }

    /// The descriptor of its output; nil while it isn't running.
    var outputFD: Int32? { child?.outputFD ?? nil }

    /// Its process number; nil while it isn't running.
    var pid: Int32? { isAlive ? child?.pid : nil }

    var isRunning: Bool { state == .running }

    /// Whether there is a process.
    var isAlive: Bool {
        switch state {
        case .running, .stopping: true
        case .waiting, .ended, .broken, .stopped, .idle: false
        }
    }

    /// When the next action for it is due; nil if none is.
    var dueNanoseconds: UInt64? {
        switch state {
        case .waiting(let moment): moment
        case .stopping(let moment): [moment, lookNanoseconds].compactMap(\.self).min()
        case .running, .ended, .broken, .stopped, .idle: nil
        }
    }

    /// Starts it. A failed start counts as a crash. With `byHand`, earlier crashes don't count.
    func begin(byHand: Bool = false) -> News? {
        if byHand { policy.forget() }
        (beginsAgain, fallsIdle) = (false, false)
        policy.started(atNanoseconds: clock.nanoseconds())
        starts += 1
        do {
            child = try ChildProcess(starting: terms.start)
            isHeld = terms.start.isHeld
            change(to: .running)
            log.begin(run: starts, pid: child?.pid, at: sinceMilliseconds)
            return nil
        } catch {
            end = nil
            return ended("can't be started: \(error)", succeeded: false)
        }
    }

    /// Releases a held process.
    func release() {
        isHeld = false
        child?.release()
    }

    /// Asks it to end within the time, and perhaps starts it again afterwards. If it waits for its next start
    /// or for demand, it becomes stopped. Otherwise, without a process, nothing changes.
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

    /// Notes whether a client needs it. Returns true if it has to be started.
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

    /// Whether its time to end is over.
    func isOverdue(_ now: UInt64) -> Bool {
        if case .stopping(let moment?) = state { moment <= now } else { false }
    }

    /// Kills it at once. Returns false if it was killed before or has no process.
    func kill() -> Bool {
        guard isAlive, state != .stopping(killAtNanoseconds: nil) else { return false }
        signal(SIGKILL)
        change(to: .stopping(killAtNanoseconds: nil))
        return true
    }

    private static let readBytes = 16_384
    private static let lookSeconds = 0.05

    /// Takes its output: finished lines, and whether more may come later.
    func read() -> (lines: [String], isOpen: Bool) {
        guard let fd = outputFD else { return ([], false) }
        let (transfer, bytes) = PipeCalls.read(fd, upTo: Self.readBytes)
        let taken = lines.take(bytes)
        log.append(taken, at: clock.wallMilliseconds())
        switch transfer {
        case .bytes, .wouldBlock: return (taken, true)
        case .ended, .failed: return ([], false)
        }
    }

    /// Checks whether it has ended, and returns what follows from that. If it was asked to end, everything that it
    /// started has the same time. What it leaves running otherwise is killed.
    func checkEnd() -> News? {
        lookNanoseconds = nil
        if case .stopping(.some) = state, child?.leavesOthers == true {
            lookNanoseconds = clock.nanoseconds(afterSeconds: Self.lookSeconds)
            return nil
        }
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
        // Another process may go on writing to the pipe, so the number of reads is limited.
        for _ in 0..<64 {
            let (lines, isOpen) = drain()
            last += lines
            if !isOpen { break }
        }
        if let line = lines.finish() { last.append(line) }
        child = nil
        log.append(last, at: clock.wallMilliseconds())
        return last
    }

    /// Sends a signal to its process group.
    private func signal(_ number: Int32) {
        child?.signalGroup(number)
    }

    /// Reads once. Returns false if no more bytes are there now.
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
