// What a plugin prints. Lines leave at once, also into a pipe, and whatever came over the
// bus can't do anything to a terminal. Shared by the whole process, from any thread.

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

    /// Shows where things stand: on a terminal a line that each call redraws in place,
    /// cut to its width; otherwise a plain line.
    public static func status(_ text: String) {
        line.withLock { $0.showStatus(text) }
    }

    /// Leaves the last status standing as a line of its own.
    public static func endStatus() {
        line.withLock { $0.endStatus() }
    }

    private static let line = Mutex(StatusLine(output: .output))
}
