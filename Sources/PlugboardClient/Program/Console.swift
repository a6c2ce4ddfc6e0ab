// What a plugin prints. Lines leave at once, also into a pipe. Text from the bus can't control a
// terminal. Shared by the whole process, usable from any thread.

import PlugboardPosix
import Synchronization

/// Standard output and standard error, for people.
public enum Console {
    /// Prints a line to standard output. Control characters in it are shown as escapes.
    public static func say(_ text: String) {
        line.withLock { $0.print(text, to: .output) }
    }

    /// Prints a line to standard error, under the same conditions.
    public static func warn(_ text: String) {
        line.withLock { $0.print(text, to: .error) }
    }

    /// Shows the current status. On a terminal it is a line that each call redraws in place, cut to
    /// its width; otherwise a plain line.
    public static func status(_ text: String) {
        line.withLock { $0.showStatus(text) }
    }

    /// Leaves the last status standing as a line of its own.
    public static func endStatus() {
        line.withLock { $0.endStatus() }
    }

    private static let line = Mutex(StatusLine(output: .output))
}
