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

/// The terminal's last line, while it holds a status.
private struct StatusLine: Sendable {
    let output: StandardStream
    var status: String?

    init(output: StandardStream) {
        self.output = output
    }

    /// Above the status, where there is one.
    func print(_ text: String, to stream: StandardStream) {
        if status != nil { write(Self.erasure, to: output) }
        write(Printable.text(text) + "\n", to: stream)
        if let status { write(status, to: output) }
    }

    mutating func showStatus(_ text: String) {
        guard output.isTerminal else { return print(text, to: output) }
        let room = max(1, (output.columns ?? 80) - 1)
        let shown = String(Printable.text(text).prefix(room))
        write(Self.erasure + shown, to: output)
        status = shown
    }

    mutating func endStatus() {
        guard status != nil else { return }
        write("\n", to: output)
        status = nil
    }

    /// Back to the first column, and clear to the end of the line (ECMA-48, EL).
    private static let erasure = "\r\u{1B}[K"

    /// Where nobody reads any more there is nobody to tell; the plugin works on.
    private func write(_ text: String, to stream: StandardStream) {
        _ = stream.write(Array(text.utf8))
    }
}
