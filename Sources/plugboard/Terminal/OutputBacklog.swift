// The output of a program that must go on although nobody reads it: at a terminal that is stopped, before a
// pager that waits for a key, into a log collector that hangs, or into a file on a full disk. What isn't taken
// at once waits here, and what doesn't fit is left out.

import PlugboardPosix

/// An output stream, and what waits for its reader.
final class OutputBacklog {
    /// Nothing is added to more than this.
    static let bytesMax = 262_144
    /// How long a text waits for a reader that is so far behind. One that still reads gets everything.
    private static let patienceSeconds = 0.1
    /// At the end, how long a reader may take nothing.
    private static let farewellMilliseconds: Int32 = 500

    let target: OutputStream
    /// Whether a text could not be written, because nobody can read it any more.
    private(set) var isReaderGone = false
    private var waiting: ArraySlice<UInt8> = []
    /// How many lines were left out after what waits. Until that has been read, all others are left out, too.
    private var leftOut = 0
    /// Whether the system has refused what waits, as on a full disk. No poller tells when that is over.
    private var hasFailed = false
    private var isWatched = false

    init(_ target: OutputStream) {
        self.target = target
    }

    /// Writes a text and a line feed.
    func line(_ text: String) { write(target.textLine(text)) }

    /// Writes a text that has its own line feeds.
    func text(_ text: String) { write(target.textBytes(text)) }

    /// Writes what the reader takes now, and has the poller report when it takes more. After a failure each call
    /// tries again.
    func keepUp(_ poller: any Poller, token: UInt64) throws {
        send()
        guard isWatched != (!waiting.isEmpty && !hasFailed) else { return }
        if isWatched {
            poller.remove(target.stream.fd)
        } else {
            try poller.add(target.stream.fd, token: token, interest: .write)
        }
        isWatched.toggle()
    }

    /// Gives the reader the time to take what waits, for as long as it reads.
    func finish() {
        while leftOut == 0, !waiting.isEmpty, takesMore(within: Self.farewellMilliseconds) { send() }
    }

    private func write(_ bytes: [UInt8]) {
        let limit = TimeLimit(seconds: Self.patienceSeconds)
        while leftOut == 0, waiting.count >= Self.bytesMax, let left = limit.milliseconds,
            takesMore(within: left)
        {
            send()
        }
        guard leftOut == 0, waiting.count < Self.bytesMax else {
            leftOut += bytes.count { $0 == 0x0A }
            return
        }
        waiting += bytes
        send()
    }

    private func send() {
        while !waiting.isEmpty {
            switch target.stream.writeAtOnce(&waiting) {
            case nil: return
            case .all: (waiting, hasFailed) = (notice()[...], false)
            case .readerGone:
                isReaderGone = true
                (waiting, leftOut) = ([], 0)
            case .failed: return keepBegunLine()
            }
        }
    }

    /// Keeps the line in which the writing failed, so that it comes whole, and leaves out those after it.
    private func keepBegunLine() {
        hasFailed = true
        let end = waiting.firstIndex(of: 0x0A).map { $0 + 1 } ?? waiting.endIndex
        leftOut += waiting[end...].count { $0 == 0x0A }
        waiting = waiting[..<end]
    }

    /// The line that stands for those that were left out; nothing if none was.
    private func notice() -> [UInt8] {
        guard leftOut > 0 else { return [] }
        let lines = leftOut == 1 ? "1 line" : "\(leftOut) lines"
        leftOut = 0
        return target.textLine("\(Program.name) up: \(lines) left out here, because they couldn't be written")
    }

    /// Also true if the wait was interrupted, or has failed: the next write finds that out.
    private func takesMore(within milliseconds: Int32) -> Bool {
        !hasFailed && PipeCalls.wait(for: .write, of: target.stream.fd, milliseconds: milliseconds) != 0
    }
}
