// A log that two threads use: one writes, and one opens the file again at SIGHUP.

import PlugboardClient
import Synchronization

/// A log, and who is told when something is wrong with it.
final class SharedLog: Sendable {
    private let file: Mutex<LogFile>
    private let tell: @Sendable (_ trouble: String?) -> Void

    /// Calls `tell` now, and whenever something has changed: with what is wrong, or nil.
    init(_ file: consuming LogFile, tell: @escaping @Sendable (_ trouble: String?) -> Void) {
        tell(file.trouble)
        self.file = Mutex(file)
        self.tell = tell
    }

    var newestFiles: [String] { file.withLock { $0.newestFiles } }

    /// Writes a line. As long as that fails, it tries again each second, and the broker keeps what comes
    /// meanwhile, or counts what it can't keep. Throws if the program is asked to end by then.
    func append(_ line: JSON) async throws {
        while let failure = tryToAppend(line) {
            if Plugin.isAskedToEnd { throw failure }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Returns why it failed.
    private func tryToAppend(_ line: JSON) -> LogFailure? {
        change { log in
            do throws(LogFailure) {
                try log.append(line)
                return nil
            } catch {
                return error
            }
        }
    }

    func reopen() {
        change { $0.reopen() }
    }

    private func change<Outcome: Sendable>(_ body: (inout sending LogFile) -> Outcome) -> Outcome {
        let (outcome, trouble, isNews) = file.withLock { log in
            let before = log.trouble
            let outcome = body(&log)
            return (outcome, log.trouble, log.trouble != before)
        }
        if isNews { tell(trouble) }
        return outcome
    }
}
