// A whole terminal, drawn in place: what changed of a picture is written, in one go, so
// that a slow line shows it well. Scrolling back afterwards shows what was there before.

import PlugboardPosix

/// The screen of a program that takes all of it.
final class FullScreen {
    /// A terminal that takes nothing for so long is left alone until the next picture.
    private static let patienceMilliseconds: Int32 = 500
    /// Alternate screen, no cursor, no line that goes on in the next.
    private static let greeting = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[H\u{1B}[2J"
    private static let farewell = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
    /// Where a terminal doesn't say.
    private static let standardSize = TerminalSize(columns: 80, rows: 24)

    private let terminal: RawTerminal
    private let stream: StandardStream
    private var shown: [String] = []
    private var shownSize: TerminalSize?

    init(_ stream: StandardStream = .output) {
        self.stream = stream
        terminal = RawTerminal(
            output: stream,
            greeting: Array(Self.greeting.utf8),
            farewell: Array(Self.farewell.utf8)
        )
    }

    /// As it is now.
    var size: TerminalSize { stream.size ?? Self.standardSize }

    /// Shows these lines, none wider than the screen and none with anything but text and
    /// colours. False where nobody looks any more.
    func show(_ lines: [String], size: TerminalSize) -> Bool {
        var text = ""
        if shownSize != size {
            text += "\u{1B}[2J"
            shown = []
        }
        let lines = lines.prefix(size.rows)
        for (row, line) in lines.enumerated() where row >= shown.count || shown[row] != line {
            text += "\u{1B}[\(row + 1);1H\(line)"
            // Behind a full line the cursor still stands on its last character.
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

    /// The next picture is drawn anew: something else may have written over it.
    func forget() {
        shownSize = nil
    }

    /// Gives the terminal back; `take` goes on.
    func giveBack() {
        terminal.giveBack()
    }

    func take() {
        terminal.take()
        forget()
    }
}
