// Splits a typed line into words, which are separated by spaces and tabs. Each word is a place in the
// line. No word is empty, and the line isn't changed.

import PlugboardMemory

/// The words of a line.
struct Words: ~Escapable {
    private let line: Span<UInt8>
    private var position = 0

    @_lifetime(copy line)
    init(_ line: Span<UInt8>) {
        self.line = line
    }

    /// The next word; nil at the end.
    mutating func next() -> ByteRange? {
        skipSpace()
        let start = position
        while position < line.count, !isSpace(line[position]) { position += 1 }
        return position > start ? ByteRange(start, position) : nil
    }

    /// The rest of the line, without white space around it; nil if there is none.
    mutating func rest() -> ByteRange? {
        skipSpace()
        var end = line.count
        while end > position, isSpace(line[end - 1]) { end -= 1 }
        return end > position ? ByteRange(position, end) : nil
    }

    private mutating func skipSpace() {
        while position < line.count, isSpace(line[position]) { position += 1 }
    }

    private func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
