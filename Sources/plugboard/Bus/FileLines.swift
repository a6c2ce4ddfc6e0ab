// Reads a file's lines one at a time, with their numbers. It needs bounded memory for any content of the
// file.

import PlugboardPosix
import PlugboardWire

/// Reads lines of a file or of standard input.
struct FileLines: ~Copyable {
    /// The longest line: the longest value, and what `dump`, `record` and `get` print around it.
    static let lineBytesMax = Limits.valueBytesMax + 8_192

    /// A line of the file.
    struct Line {
        /// From 1, counting every line.
        let number: Int
        /// The bytes without the line feed; nil if the line is longer than `lineBytesMax`.
        let bytes: [UInt8]?
        /// False for a last line without a line feed.
        let isEnded: Bool

        /// Whether the line is blank or a comment.
        var isIgnored: Bool {
            guard let bytes else { return false }
            return RequestDecoder.isIgnored(bytes.span)
        }

        /// The object in the line. Throws if there is none.
        func object() throws(JSONFault) -> JSONObject {
            guard let bytes else {
                throw JSONFault(offset: 0, message: "longer than \(FileLines.lineBytesMax) bytes")
            }
            return try JSONObject(parsing: bytes[...])
        }
    }

    /// The name of the file in messages.
    let name: String
    /// The file's size; nil if it has none, like a pipe.
    let bytesTotal: Int?
    /// How many bytes were read.
    private(set) var bytesRead = 0
    private let file: InputFile
    private var number = 0
    private var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    private var pending: ArraySlice<UInt8> = []
    private var isEnded = false

    /// Opens a file; `-` is standard input.
    init(path: String) throws {
        file = path == "-" ? try StandardInput.open() : try InputFile(path: path)
        name = path == "-" ? "standard input" : path
        bytesTotal = file.bytes
    }

    /// Whether the bytes read so far have no complete line, so that the next one may take long.
    var mustWait: Bool { !isEnded && !pending.contains(0x0A) }

    /// The descriptor to wait for if `mustWait`.
    var fd: Int32 { file.raw }

    /// The next line; nil at the end. The last line needs no line feed. `wait` is called before each read of
    /// the file, so that the caller can wait for other things, too.
    mutating func next(_ wait: (_ fd: Int32) throws -> Void = { _ in }) throws -> Line? {
        var line: [UInt8] = []
        var isOverlong = false
        while true {
            if let feed = pending.firstIndex(of: 0x0A) {
                append(pending[..<feed], to: &line, &isOverlong)
                pending = pending[(feed + 1)...]
                return finished(line, isOverlong, isEnded: true)
            }
            append(pending, to: &line, &isOverlong)
            pending = []
            if !isEnded { try wait(fd) }
            guard try fill() else {
                return line.isEmpty && !isOverlong ? nil : finished(line, isOverlong, isEnded: false)
            }
        }
    }

    private mutating func fill() throws -> Bool {
        let count = isEnded ? 0 : try Self.read(file, into: &chunk)
        bytesRead += count
        isEnded = count == 0
        pending = chunk[..<count]
        return count > 0
    }

    private static func read(_ file: borrowing InputFile, into chunk: inout [UInt8]) throws -> Int {
        var room = chunk.mutableSpan
        return try file.read(into: &room)
    }

    private func append(_ part: ArraySlice<UInt8>, to line: inout [UInt8], _ isOverlong: inout Bool) {
        if line.count + part.count > Self.lineBytesMax { isOverlong = true }
        if isOverlong { line = [] } else { line += part }
    }

    private mutating func finished(_ line: [UInt8], _ isOverlong: Bool, isEnded: Bool) -> Line {
        number += 1
        let trimmed = line.last == 0x0D ? Array(line.dropLast()) : line
        return Line(number: number, bytes: isOverlong ? nil : trimmed, isEnded: isEnded)
    }
}
