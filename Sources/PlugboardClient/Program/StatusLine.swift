// The status of a plugin and the lines above it. `Console` owns it, under its lock. The last line of a
// terminal is always the whole status or empty.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The last line of the terminal, while it shows a status.
struct StatusLine: Sendable {
    let output: StandardStream
    private var status: String?

    init(output: StandardStream) {
        self.output = output
    }

    /// Prints a line, above the status if there is one.
    func print(_ text: String, to stream: StandardStream) {
        if status != nil { write(Self.erasure, to: output) }
        write(Printable.text(SystemText.shown(text)) + "\n", to: stream)
        if let status { write(status, to: output) }
    }

    mutating func showStatus(_ text: String) {
        guard output.isTerminal else { return print(text, to: output) }
        let room = max(1, (output.columns ?? 80) - 1)
        let shown = String(Printable.text(SystemText.shown(text)).prefix(room))
        write(Self.erasure + shown, to: output)
        status = shown
    }

    mutating func endStatus() {
        guard status != nil else { return }
        write("\n", to: output)
        status = nil
    }

    /// Moves to the first column and clears the line from there (ECMA-48, EL).
    private static let erasure = "\r\u{1B}[K"

    /// If nobody reads the output any more, the plugin continues.
    private func write(_ text: String, to stream: StandardStream) {
        _ = stream.write(Array(text.utf8))
    }
}
