// Walks over the members of one JSON object, or the elements of one array, without building
// anything: ranges of bytes. It is as tolerant as the protocol asks clients to be: it skips unknown
// names and any value.

import PlugboardMemory
import PlugboardWire

/// A position in an object or array.
struct MemberReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var scanner: JSONScanner
    private var isFirst = true

    /// Begins at the bracket that opens the container at or after `start`; nil without one.
    @_lifetime(copy bytes)
    init?(_ bytes: Span<UInt8>, from start: Int = 0, opening: Unicode.Scalar) {
        self.bytes = bytes
        scanner = JSONScanner(bytes)
        scanner.position = start
        scanner.skipWhitespace()
        guard scanner.position < bytes.count, bytes[scanner.position] == UInt8(ascii: opening) else {
            return nil
        }
        scanner.position += 1
    }

    /// The next member: its name without quotes, as it is spelled, and its value.
    mutating func nextMember() throws(MalformedLine) -> (name: ByteRange, value: ByteRange)? {
        guard try advance(closing: UInt8(ascii: "}")) else { return nil }
        guard bytes[scanner.position] == UInt8(ascii: "\"") else { throw malformed() }
        let name = try value()
        scanner.skipWhitespace()
        guard !scanner.isAtEnd, bytes[scanner.position] == UInt8(ascii: ":") else { throw malformed() }
        scanner.position += 1
        scanner.skipWhitespace()
        return (ByteRange(name.start + 1, name.end - 1), try value())
    }

    /// The next element.
    mutating func nextElement() throws(MalformedLine) -> ByteRange? {
        guard try advance(closing: UInt8(ascii: "]")) else { return nil }
        return try value()
    }

    /// Moves to the next part; false where the container closes.
    private mutating func advance(closing: UInt8) throws(MalformedLine) -> Bool {
        scanner.skipWhitespace()
        guard !scanner.isAtEnd else { throw malformed() }
        if bytes[scanner.position] == closing { return false }
        if !isFirst {
            guard bytes[scanner.position] == UInt8(ascii: ",") else { throw malformed() }
            scanner.position += 1
            scanner.skipWhitespace()
            guard !scanner.isAtEnd else { throw malformed() }
        }
        isFirst = false
        return true
    }

    private mutating func value() throws(MalformedLine) -> ByteRange {
        let start = scanner.position
        do {
            try scanner.skipValue()
        } catch {
            throw malformed()
        }
        return ByteRange(start, scanner.position)
    }

    private func malformed() -> MalformedLine {
        MalformedLine(offset: scanner.position)
    }
}

/// A line that isn't the JSON it should be, and where that shows.
struct MalformedLine: Error {
    let offset: Int
}
