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

    func append(_ line: JSON) throws(LogFailure) {
        try change { log throws(LogFailure) in try log.append(line) }
    }

    func reopen() {
        change { $0.reopen() }
    }

    private func change<Failure: Error>(_ body: (inout sending LogFile) throws(Failure) -> Void)
        throws(Failure)
    {
        let (trouble, isNews) = try file.withLock { log throws(Failure) in
            let before = log.trouble
            try body(&log)
            return (log.trouble, log.trouble != before)
        }
        if isNews { tell(trouble) }
    }
}
