// One child of `up` through all its lives: started, read, seen to end, started
// again. It knows nothing of the others; the supervisor tells it when.

import PlugboardPosix

/// A child process that is kept alive.
final class SupervisedProcess {
    enum State: Equatable {
        case running
        /// Crashed; to be started again at that moment of the monotonic clock.
        case waiting(untilNanoseconds: UInt64)
        /// Ended, and to stay so.
        case finished
    }

    /// What happened to a child that was looked at.
    enum News {
        /// Ended and stays so; how, in words.
        case finished(String)
        /// Crashed or couldn't be started; the delay before the next start in seconds.
        case crashed(String, again: Double)
    }

    let name: String
    private(set) var state = State.finished
    private let start: ChildStart
    private let restarts: Bool
    private let doneText: String
    private var child: ChildProcess?
    private var lines = OutputLines()
    private var backoff = Backoff()
    private var startedNanoseconds: UInt64 = 0

    /// `doneText` is how to tell that it ended with status 0.
    init(name: String, start: ChildStart, restarts: Bool = true, doneText: String = "is done") {
        self.name = name
        self.start = start
        self.restarts = restarts
        self.doneText = doneText
    }

    /// What it prints; nil while it isn't running.
    var outputFD: Int32? { child?.outputFD ?? nil }

    var isRunning: Bool { state == .running }

    /// Starts it; what goes wrong with that counts as a crash.
    func begin() -> News? {
        startedNanoseconds = MonotonicClock.nanoseconds()
        do {
            child = try ChildProcess(starting: start)
            state = .running
            return nil
        } catch {
            return crashed("can't be started: \(error)")
        }
    }

    /// Takes what it printed: finished lines, and whether there may be more later.
    func read() -> (lines: [String], isOpen: Bool) {
        guard let fd = outputFD else { return ([], false) }
        return withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { buffer in
            switch PipeCalls.read(fd, into: buffer) {
            case .bytes(let count): (lines.take(buffer[..<count]), true)
            case .wouldBlock: ([], true)
            case .ended, .failed: ([], false)
            }
        }
    }

    /// Whether it ended, and if so what comes of it.
    func checkEnd() -> News? {
        guard let end = child?.end() ?? nil else { return nil }
        if end == .exited(0) { return finished(doneText) }
        return crashed("\(end)")
    }

    /// Lets go of a child that ended, and returns what was left of its output.
    func close() -> [String] {
        var last: [String] = []
        // What a stranger keeps writing to the pipe must not hold us up for ever.
        for _ in 0..<64 {
            let (lines, isOpen) = drain()
            last += lines
            if !isOpen { break }
        }
        if let line = lines.finish() { last.append(line) }
        child = nil
        return last
    }

    /// Sends a signal to it and everyone in its group.
    func signal(_ number: Int32) {
        child?.signalGroup(number)
    }

    /// One read; false where nothing is left for now.
    private func drain() -> (lines: [String], isOpen: Bool) {
        guard let fd = outputFD else { return ([], false) }
        return withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { buffer in
            guard case .bytes(let count) = PipeCalls.read(fd, into: buffer) else { return ([], false) }
            return (lines.take(buffer[..<count]), true)
        }
    }

    private func finished(_ reason: String) -> News {
        state = .finished
        return .finished(reason)
    }

    private func crashed(_ reason: String) -> News {
        guard restarts else { return finished(reason) }
        let lived = Double(MonotonicClock.nanoseconds() - startedNanoseconds) / 1e9
        let delay = backoff.delay(afterLivingSeconds: lived)
        state = .waiting(untilNanoseconds: MonotonicClock.nanoseconds() + UInt64(delay * 1e9))
        return .crashed(reason, again: delay)
    }
}
