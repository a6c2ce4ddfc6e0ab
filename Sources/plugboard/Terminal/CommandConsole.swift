// The two streams of a command: results go to standard output, messages for a person to standard
// error.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// What a command prints to.
struct CommandConsole: Sendable {
    let output = OutputStream(.output)
    let messages = OutputStream(.error)

    /// Prints a message for a person. If nobody reads standard error, the command goes on.
    func say(_ text: String) {
        try? messages.line(Self.shown(text))
    }

    /// A message as it is printed.
    static func shown(_ text: String) -> String { Printable.text(SystemText.shown(text)) }

    /// Prints why a command failed.
    func report(_ error: CommandError, in command: String) {
        guard error != .told else { return }
        let paint = messages.paint
        write("\(paint.bold("\(command):")) \(Printable.lines(SystemText.shown(error.message)))")
        for hint in error.hints { write("  \(Self.shown(hint))") }
    }

    private func write(_ line: String) {
        try? messages.line(line)
    }
}

/// One output stream, and whether its reader can show colours. Each call writes its bytes at once.
struct OutputStream: Sendable {
    let stream: StandardStream
    /// Whether the stream is a terminal.
    let isTerminal: Bool
    /// The colours for this stream.
    let paint: Paint

    init(_ stream: StandardStream) {
        self.stream = stream
        isTerminal = stream.isTerminal
        paint = Paint(isOn: isTerminal && Paint.isWanted)
    }

    /// Writes a text and a line feed.
    func line(_ text: String) throws {
        try bytes(textLine(text))
    }

    /// The text that `line` writes. To a terminal it writes only text, line feeds and this program's colours.
    func textLine(_ text: String) -> [UInt8] {
        textBytes(text) + [0x0A]
    }

    /// Writes a text that has its own line feeds.
    func text(_ text: String) throws {
        try bytes(textBytes(text))
    }

    /// The bytes that `text` writes.
    func textBytes(_ text: String) -> [UInt8] { Array(safe(text).utf8) }

    private func safe(_ text: String) -> String {
        isTerminal ? Printable.painted(text) : text
    }

    /// Writes JSON and a line feed: byte for byte, but safe to show on a terminal.
    func json(_ json: some Collection<UInt8>) throws {
        try bytes(jsonLine(json))
    }

    /// The bytes that `json` writes.
    func jsonLine(_ json: some Collection<UInt8>) -> [UInt8] {
        (isTerminal ? Array(Printable.json(json).utf8) : Array(json)) + [0x0A]
    }

    /// Writes bytes as they are. Throws `ReaderGone` if nobody reads any more.
    func bytes(_ bytes: [UInt8]) throws {
        try stream.send(bytes)
    }
}
