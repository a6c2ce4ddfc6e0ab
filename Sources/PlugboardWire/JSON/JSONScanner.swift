// A strict scanner for JSON (RFC 8259). It moves over bytes and builds nothing: it finds where a value
// ends, and checks that it is well-formed. The bits of one integer hold the nesting, so no input can
// exhaust the stack. Code that reads much uses a local copy of the scanner, which stays in registers
// because nobody takes its address. Rare paths get a copy of their own and return the new place.
//
// Why it may read without a check: `byte`, `wholeWord` and `sixteen` are called only after the place was
// compared with `end`. No place is negative, because each comes from 0 by adding; whoever sets `position`
// must keep that. With a second check, a publish without observers took 15 % more instructions.

import PlugboardMemory

/// A place in bytes that are read as JSON. Copies are cheap and independent.
public struct JSONScanner: ~Escapable {
    @usableFromInline let bytes: Span<UInt8>
    /// The offset of the next byte. Must not be negative.
    public var position: Int

    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>, at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// The offset after the last byte.
    @usableFromInline var end: Int { bytes.count }

    /// Checks that the bytes are one value, with nothing but white space around it. Returns its place.
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

    /// The byte at `place`, which must be before the end.
    @inline(__always)
    func byte(at place: Int) -> UInt8 {
        assert(place >= 0 && place < end)
        return unsafe bytes[unchecked: place]
    }

    /// The eight bytes from `place` on, the first byte lowest. All must be before the end.
    @inline(__always)
    func wholeWord(at place: Int) -> UInt64 {
        assert(place >= 0 && place + 8 <= end)
        return unsafe UInt64(
            littleEndian: bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
        )
    }

    /// The sixteen bytes from `place` on. All must be before the end.
    @inline(__always)
    func sixteen(at place: Int) -> SIMD16<UInt8> {
        assert(place >= 0 && place + 16 <= end)
        return unsafe bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: SIMD16<UInt8>.self)
    }

    /// The next byte. At the end it is 0, which is never part of JSON.
    @inline(__always)
    var current: UInt8 { position < end ? byte(at: position) : 0 }

    /// Moves past white space (RFC 8259, section 2).
    @inline(__always)
    public mutating func skipWhitespace() {
        // Compact JSON has none, so one comparison usually is enough.
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

    /// Moves past the value that begins here. If it throws, nothing has moved.
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

    /// Moves into a container that isn't empty, and returns true. Or moves past a scalar or an empty
    /// container, and returns false.
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

    /// Moves past an opening bracket and counts the level. Returns false if the container is empty.
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

    /// Call it after a value. Moves past the comma to the next value, or past closing brackets. Returns
    /// false if the outermost value has ended.
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

    /// Moves past a member's name and its colon.
    @inline(__always)
    private mutating func skipName() throws(JSONFailure) {
        guard current == UInt8(ascii: "\"") else { throw syntax("a name in quotes") }
        position &+= 1
        try skipString()
        try skipColon()
    }

    /// Moves past a colon and the white space around it.
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

/// The open containers. The innermost one is in the lowest bit.
private struct Nesting {
    private(set) var depth = 0
    private var objects: UInt64 = 0

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
