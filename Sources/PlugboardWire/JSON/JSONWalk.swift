// Goes through the members of an object or the elements of an array. It builds nothing and returns ranges
// of bytes. It accepts any value, so a reader can skip what it doesn't know.

import PlugboardMemory

/// A position in an object or array.
public struct JSONWalk: ~Escapable {
    private var scanner: JSONScanner
    private let closing: UInt8
    private var isFirst = true

    /// Begins at the opening bracket at `start`, after white space. Nil if there is another byte.
    @_lifetime(copy bytes)
    public init?(_ bytes: Span<UInt8>, from start: Int = 0, opening: Unicode.Scalar) {
        scanner = JSONScanner(bytes, at: start)
        scanner.skipWhitespace()
        guard scanner.current == UInt8(ascii: opening) else { return nil }
        closing = JSONScanner.closing(UInt8(ascii: opening))
    }

    /// The next member: its name as spelled, without quotes, and its value. Nil at the end of the object;
    /// don't call it again then.
    public mutating func nextMember() throws(JSONFailure) -> (name: ByteRange, value: ByteRange)? {
        guard try advance() else { return nil }
        return (try scanner.readName(), try value())
    }

    /// The next element. Nil at the end of the array; don't call it again then.
    public mutating func nextElement() throws(JSONFailure) -> ByteRange? {
        try advance() ? value() : nil
    }

    /// Throws if anything but white space follows the container.
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
    /// The bracket that closes the opening bracket `byte`; 0 for any other byte.
    static func closing(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "{"): UInt8(ascii: "}")
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: 0
        }
    }

    /// Moves past the opening bracket here, to the first member or element. Returns false if the
    /// container is empty, and moves past all of it.
    mutating func enter() -> Bool {
        let closing = Self.closing(current)
        position += 1
        skipWhitespace()
        guard current == closing else { return true }
        position += 1
        return false
    }

    /// Call it after a member or element. Moves past a comma and returns true, or past the closing
    /// bracket and returns false.
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

    /// Moves past a member's name and its colon. Returns the place of the name without its quotes.
    mutating func readName() throws(JSONFailure) -> ByteRange {
        guard current == UInt8(ascii: "\"") else { throw syntax("a name in quotes") }
        position += 1
        let start = position
        try skipString()
        let name = ByteRange(start, position - 1)
        try skipColon()
        return name
    }

    /// Calls `body` with each name of the object that begins here, and with the scanner before its value. `body` moves
    /// past the value; then the scanner is past the object. Throws if no object begins here.
    mutating func readMembers(
        _ body: (ByteRange, inout JSONScanner) throws(JSONFailure) -> Void
    ) throws(JSONFailure) {
        guard current == UInt8(ascii: "{") else { throw syntax("an object") }
        guard enter() else { return }
        repeat { try body(try readName(), &self) } while try goOn(to: UInt8(ascii: "}"))
    }

    /// The same for the elements of an array.
    mutating func readElements(
        _ body: (inout JSONScanner) throws(JSONFailure) -> Void
    ) throws(JSONFailure) {
        guard current == UInt8(ascii: "[") else { throw syntax("an array") }
        guard enter() else { return }
        repeat { try body(&self) } while try goOn(to: UInt8(ascii: "]"))
    }

    /// Throws if anything but white space is left.
    mutating func finish() throws(JSONFailure) {
        skipWhitespace()
        guard isAtEnd else { throw syntax("nothing more after the value") }
    }
}
