// What a plugin prints. Lines are written at once, even into a pipe. Text from the bus can't control the
// terminal. The whole process shares it, and any thread may use it.

import PlugboardPosix
import Synchronization

/// Standard output and standard error for people.
public enum Console {
    /// Prints a line to standard output. Control characters in it are shown as escapes.
    public static func say(_ text: String) {
        line.withLock { $0.print(text, to: .output) }
    }

    /// Prints a line to standard error. Control characters in it are shown as escapes.
    public static func warn(_ text: String) {
        line.withLock { $0.print(text, to: .error) }
    }

    /// Shows the present status. On a terminal, each call redraws the last line, shortened to the
    /// terminal's width. Otherwise it prints a line.
    public static func status(_ text: String) {
        line.withLock { $0.showStatus(text) }
    }

    /// Keeps the last status as an ordinary line.
    public static func endStatus() {
        line.withLock { $0.endStatus() }
    }

    private static let line = Mutex(StatusLine(output: .output))
}
