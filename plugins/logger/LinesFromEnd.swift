// The lines of a log, last one first. It reads only as much of the file as is asked for. What follows the
// last line feed is no line: a logger that was killed didn't finish it.

import PlugboardPosix

/// Reads a file backwards.
struct LinesFromEnd: ~Copyable {
    private static let chunkBytes = 65_536

    /// What follows the last line feed.
    private(set) var unfinished: [UInt8] = []
    private let file: InputFile
    /// What was read and is not told yet begins here.
    private var start: Int
    private var rest: [UInt8] = []
    private var isOver = false

    /// Nil if there is no such file. Throws if it can't be read.
    init?(path: String) throws {
        guard let file = try? InputFile(path: path), let bytes = file.bytes else { return nil }
        self.file = file
        start = bytes
        while start > 0, rest.lastIndex(of: 0x0A) == nil { try readBefore() }
        guard let feed = rest.lastIndex(of: 0x0A) else {
            (unfinished, rest, isOver) = (rest, [], true)
            return
        }
        unfinished = Array(rest[(feed + 1)...])
        rest.removeSubrange(feed...)
    }

    /// The line before; nil at the beginning of the file, or if it can't be read.
    mutating func next() -> [UInt8]? {
        if isOver { return nil }
        while true {
            if let feed = rest.lastIndex(of: 0x0A) {
                defer { rest.removeSubrange(feed...) }
                return Array(rest[(feed + 1)...])
            }
            guard start > 0 else { break }
            do {
                try readBefore()
            } catch {
                isOver = true
                return nil
            }
        }
        isOver = true
        return rest
    }

    private mutating func readBefore() throws {
        let count = Swift.min(start, Self.chunkBytes)
        var bytes = [UInt8](repeating: 0, count: count)
        var room = bytes.mutableSpan
        guard try file.read(at: start - count, into: &room) == count else {
            throw SystemError(code: EIO, operation: "read", subject: "the log")
        }
        rest = bytes + rest
        start -= count
    }
}
