// Goes over the members of one JSON object, or the elements of one array, without building anything:
// ranges of bytes. It takes any value, so that a reader can skip what it doesn't know.

import PlugboardMemory

/// A position in an object or array.
public struct JSONWalk: ~Escapable {
    private var scanner: JSONScanner
    private let closing: UInt8
    private var isFirst = true

    /// Begins at the bracket that opens the container at or after `start`; nil without one.
    @_lifetime(copy bytes)
    public init?(_ bytes: Span<UInt8>, from start: Int = 0, opening: Unicode.Scalar) {
        scanner = JSONScanner(bytes, at: start)
        scanner.skipWhitespace()
        guard scanner.current == UInt8(ascii: opening) else { return nil }
        closing = JSONScanner.closing(UInt8(ascii: opening))
    }

    /// The next member: its name without quotes, as it is spelled, and its value. Nil, once, where
    /// the object ends.
    public mutating func nextMember() throws(JSONFailure) -> (name: ByteRange, value: ByteRange)? {
        guard try advance() else { return nil }
        return (try scanner.readName(), try value())
    }

    /// The next element. Nil, once, where the array ends.
    public mutating func nextElement() throws(JSONFailure) -> ByteRange? {
        try advance() ? value() : nil
    }

    /// Fails where something follows the container.
    public mutating func finish() throws(JSONFailure) {
        try scanner.finish()
    }

    private mutating func advance() throws(JSONFailure) -> Bool {
        guard isFirst else { return try scanner.goOn(to: closing) }
        isFirst = false
        return scanner.enter()
    }

    private mutating func value() throws(JSONFailure) -> ByteRange {
        let start = scanner.position
        try scanner.skipValue()
        return ByteRange(start, scanner.position)
    }
}

extension JSONScanner {
    /// The bracket that closes what a byte opens; 0 where it opens nothing.
    static func closing(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "{"): UInt8(ascii: "}")
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: 0
        }
    }

    /// Moves over the opening bracket that stands here to the first part; or, false, over an empty
    /// container.
    mutating func enter() -> Bool {
        let closing = Self.closing(current)
        position += 1
        skipWhitespace()
        guard current == closing else { return true }
        position += 1
        return false
    }

    /// After a part: moves over a comma to the next one; or, false, over the closing bracket.
    mutating func goOn(to closing: UInt8) throws(JSONFailure) -> Bool {
        skipWhitespace()
        let byte = current
        guard byte == UInt8(ascii: ",") || byte == closing else {
            throw syntax(closing == UInt8(ascii: "}") ? "a comma or }" : "a comma or ]")
        }
        position += 1
        guard byte != closing else { return false }
        skipWhitespace()
        return true
    }

    /// Moves over a member's name and its colon. Returns the name's place without its quotes.
    mutating func readName() throws(JSONFailure) -> ByteRange {
        guard current == UInt8(ascii: "\"") else { throw syntax("a name in quotes") }
        position += 1
        let start = position
        try skipString()
        let name = ByteRange(start, position - 1)
        try skipColon()
        return name
    }

    /// Fails where anything but white space is left.
    mutating func finish() throws(JSONFailure) {
        skipWhitespace()
        guard isAtEnd else { throw syntax("nothing more after the value") }
    }
}
