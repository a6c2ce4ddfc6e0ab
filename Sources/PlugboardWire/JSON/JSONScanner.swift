// A strict RFC 8259 scanner that moves over bytes without building anything. It knows only
// where a value ends and that it is well-formed. The bits of one integer hold the nesting,
// so no input can exhaust the stack. Code that reads much works on a copy of the scanner
// whose address nobody takes, so that it stays in registers. Rare paths get a copy of their
// own and return the new place.
//
// Why it may read without a check: the callers of `byte`, `wholeWord` and `sixteen` have just
// compared the place with `end`, and no place is negative, because all come from 0 by adding. With a second
// check, a publish without observers took 15 % more instructions.

import PlugboardMemory

/// A place in bytes that are read as JSON.
public struct JSONScanner: ~Escapable {
    @usableFromInline let bytes: Span<UInt8>
    /// The offset of the next byte to look at.
    public var position: Int

    /// Scans `bytes` from a place on.
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>, at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// The offset after the last byte.
    @usableFromInline var end: Int { bytes.count }

    /// The place of the one value that the bytes are, with nothing but white space round it.
    @discardableResult
    public static func validate(_ bytes: Span<UInt8>) throws(JSONFailure) -> ByteRange {
        var scanner = JSONScanner(bytes)
        scanner.skipWhitespace()
        let start = scanner.position
        try scanner.skipValue()
        let value = ByteRange(start, scanner.position)
        try scanner.finish()
        return value
    }

    public var isAtEnd: Bool { position >= end }

    /// The byte at a place before the end.
    @inline(__always)
    func byte(at place: Int) -> UInt8 {
        assert(place >= 0 && place < end)
        return unsafe bytes[unchecked: place]
    }

    /// The eight bytes from a place on, the first one lowest. All are before the end.
    @inline(__always)
    func wholeWord(at place: Int) -> UInt64 {
        assert(place >= 0 && place + 8 <= end)
        return unsafe UInt64(
            littleEndian: bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
        )
    }

    /// The sixteen bytes from a place on. All are before the end.
    @inline(__always)
    func sixteen(at place: Int) -> SIMD16<UInt8> {
        assert(place >= 0 && place + 16 <= end)
        return unsafe bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: SIMD16<UInt8>.self)
    }

    /// The next byte; 0 at the end, because JSON has no zero bytes.
    @inline(__always)
    var current: UInt8 { position < end ? byte(at: position) : 0 }

    /// Moves over the insignificant white space of RFC 8259, section 2.
    @inline(__always)
    public mutating func skipWhitespace() {
        // Compact JSON has none, so one comparison mostly suffices.
        if position < end, byte(at: position) > 0x20 { return }
        position = endOfWhitespace()
    }

    @inline(never)
    @usableFromInline
    func endOfWhitespace() -> Int {
        var place = position
        while place < end, Self.isWhitespace(byte(at: place)) { place &+= 1 }
        return place
    }

    /// Moves over one value that starts here. If it throws, nothing has moved.
    public mutating func skipValue() throws(JSONFailure) {
        var scanner = self
        var nesting = Nesting()
        var goesOn = true
        while goesOn {
            if nesting.isObject { try scanner.skipName() }
            goesOn = try scanner.openOrSkipScalar(&nesting)
            if !goesOn { goesOn = try scanner.closeFinished(&nesting) }
        }
        position = scanner.position
    }

    /// Moves into a container with content and returns true. Or moves over a scalar or an empty
    /// container and returns false.
    @inline(__always)
    private mutating func openOrSkipScalar(_ nesting: inout Nesting) throws(JSONFailure) -> Bool {
        switch current {
        case UInt8(ascii: "\""):
            position &+= 1
            try skipString()
        case UInt8(ascii: "{"): return try enter(&nesting, isObject: true)
        case UInt8(ascii: "["): return try enter(&nesting, isObject: false)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
        case UInt8(ascii: "t"): try skipLiteral("true")
        case UInt8(ascii: "f"): try skipLiteral("false")
        case UInt8(ascii: "n"): try skipLiteral("null")
        default: throw syntax("a value")
        }
        return false
    }

    /// Counts the level and moves over the bracket. Returns false if the container is empty.
    @inline(__always)
    private mutating func enter(_ nesting: inout Nesting, isObject: Bool) throws(JSONFailure) -> Bool {
        guard nesting.depth < Limits.depthMax else {
            throw JSONFailure(.depth, at: position, "less nesting")
        }
        position &+= 1
        skipWhitespace()
        if current == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            position &+= 1
            return false
        }
        nesting.open(isObject: isObject)
        return true
    }

    /// After a finished value: moves over the comma to the next value, or over closing brackets.
    /// Returns false when the outermost value is finished.
    @inline(__always)
    private mutating func closeFinished(_ nesting: inout Nesting) throws(JSONFailure) -> Bool {
        while nesting.depth > 0 {
            skipWhitespace()
            let byte = current
            if byte == UInt8(ascii: ",") {
                position &+= 1
                skipWhitespace()
                return true
            }
            guard byte == (nesting.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw syntax(nesting.isObject ? "a comma or }" : "a comma or ]")
            }
            position &+= 1
            nesting.close()
        }
        return false
    }

    /// Moves over a member's name and its colon.
    @inline(__always)
    private mutating func skipName() throws(JSONFailure) {
        guard current == UInt8(ascii: "\"") else { throw syntax("a name in quotes") }
        position &+= 1
        try skipString()
        try skipColon()
    }

    /// Moves over a colon and the white space round it.
    @inline(__always)
    mutating func skipColon() throws(JSONFailure) {
        skipWhitespace()
        guard current == UInt8(ascii: ":") else { throw syntax("a colon") }
        position &+= 1
        skipWhitespace()
    }

    /// The failure "expected `reason`" at this place.
    func syntax(_ reason: StaticString) -> JSONFailure {
        JSONFailure(.syntax, at: position, reason)
    }

    @inline(__always)
    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && (byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D)
    }
}

/// The open containers, the innermost in the lowest bit.
private struct Nesting {
    private(set) var depth = 0
    private var objects: UInt64 = 0

    /// Whether the innermost is an object.
    @inline(__always) var isObject: Bool { objects & 1 == 1 }

    @inline(__always)
    mutating func open(isObject: Bool) {
        depth &+= 1
        objects = objects &<< 1 | (isObject ? 1 : 0)
    }

    @inline(__always)
    mutating func close() {
        depth &-= 1
        objects &>>= 1
    }
}
