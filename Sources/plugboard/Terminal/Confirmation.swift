// Asks a person before something that can't be undone.

import PlugboardPosix
import PlugboardWire

/// A question on the terminal.
enum Confirmation {
    private static let answerBytesMax = 1_024

    /// Whether the answer is yes. Without a terminal to ask and to answer on, it isn't asked, and that is a
    /// yes: a script knows what it does.
    static func isGiven(_ question: String, _ console: CommandConsole) throws -> Bool {
        guard console.messages.isTerminal, isatty(0) == 1 else { return true }
        try console.messages.bytes(Array("\(Printable.text(question)) [y/N] ".utf8))
        let answer = try answer().lowercased()
        return ["y", "yes"].contains(answer)
    }

    /// One line of standard input; what there is of it if the terminal is closed.
    private static func answer() throws -> String {
        let input = try InputFile.standardInput()
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256)
        while !line.contains(0x0A), line.count < answerBytesMax {
            var room = chunk.mutableSpan
            let count = try input.read(into: &room)
            if count == 0 { break }
            line += chunk[..<count]
        }
        return String(decoding: line.prefix { $0 > 0x20 }, as: UTF8.self)
    }
}
