// A program's picture on the whole terminal. It writes only the changed parts, in one write, so that the
// picture doesn't flicker on a slow line. It uses the alternate screen, so the earlier text is there again
// afterwards.

import PlugboardPosix

/// The screen of a program that fills the terminal.
final class FullScreen {
    /// If a terminal accepts nothing for this long, the rest of the picture is dropped.
    private static let patienceMilliseconds: Int32 = 500
    /// Alternate screen, no cursor, no line wrapping.
    private static let greeting = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[H\u{1B}[2J"
    private static let farewell = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
    /// The size if a terminal doesn't say.
    private static let standardSize = TerminalSize(columns: 80, rows: 24)

    private let terminal: RawTerminal
    private let stream: StandardStream
    private var shown: [String] = []
    private var shownSize: TerminalSize?

    init(_ stream: StandardStream = .output) {
        self.stream = stream
        terminal = RawTerminal(
            output: stream, greeting: Array(Self.greeting.utf8), farewell: Array(Self.farewell.utf8)
        )
    }

    /// The terminal's present size.
    var size: TerminalSize { stream.size ?? Self.standardSize }

    /// Shows these lines. They may have only text and colours, and must not be wider than the screen. Returns
    /// false if the terminal is gone.
    func show(_ lines: [String], size: TerminalSize) -> Bool {
        var text = ""
        if shownSize != size {
            text += "\u{1B}[2J"
            shown = []
        }
        let lines = lines.prefix(size.rows)
        for (row, line) in lines.enumerated() where row >= shown.count || shown[row] != line {
            text += "\u{1B}[\(row + 1);1H\(line)"
            // After a full line the cursor is still on its last character.
            if DisplayWidth.of(Paint.without(line)) < size.columns { text += "\u{1B}[K" }
        }
        if lines.count < shown.count { text += "\u{1B}[\(lines.count + 1);1H\u{1B}[J" }
        shown = Array(lines)
        shownSize = size
        switch stream.write(Array(text.utf8), milliseconds: Self.patienceMilliseconds) {
        case .all: return true
        case nil:
            forget()
            return true
        case .readerGone, .failed: return false
        }
    }

    /// Makes the next picture be drawn completely, because another program may have written on the screen.
    func forget() {
        shownSize = nil
    }

    /// Gives the terminal back. `take` takes it again.
    func giveBack() {
        terminal.giveBack()
    }

    func take() {
        terminal.take()
        forget()
    }
}
