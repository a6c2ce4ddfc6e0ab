// A strict RFC 8259 scanner that moves over bytes without building anything: it
// knows where a value ends and that it is well-formed, and nothing else. Depth is
// kept in the bits of one integer, so no input can exhaust a stack.

/// A position in bytes that are being read as JSON. The bytes outlive the scanner.
public struct JSONScanner {
    @usableFromInline let base: UnsafePointer<UInt8>
    @usableFromInline let end: Int
    /// The offset of the next byte to look at.
    public var position: Int

    /// Scans `bytes`, from its start.
    public init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address; with an end of 0 none is ever read.
        let address = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
        base = address.assumingMemoryBound(to: UInt8.self)
        end = bytes.count
        position = 0
    }

    /// Whether all bytes are one value with nothing but white space round it.
    public static func validate(_ bytes: UnsafeRawBufferPointer) throws(JSONFailure) {
        var scanner = JSONScanner(bytes)
        scanner.skipWhitespace()
        try scanner.skipValue()
        scanner.skipWhitespace()
        guard scanner.isAtEnd else { throw scanner.syntax("nothing more after the value") }
    }

    public var isAtEnd: Bool { position >= end }

    /// The next byte; 0 at the end, which no JSON contains.
    @inline(__always)
    var current: UInt8 { position < end ? base[position] : 0 }

    /// Moves over the insignificant white space of RFC 8259, section 2.
    @inline(__always)
    public mutating func skipWhitespace() {
        // Compact JSON has none, so one comparison is the rule.
        if position < end, base[position] > 0x20 { return }
        while position < end, Self.isWhitespace(base[position]) { position += 1 }
    }

    /// Moves over one value that starts here.
    public mutating func skipValue() throws(JSONFailure) {
        var depth = 0
        var objects: UInt64 = 0
        while true {
            let opened = try openOrSkipScalar(depth: &depth, objects: &objects)
            if !opened, try closeFinished(depth: &depth, objects: &objects) { return }
            skipWhitespace()
        }
    }

    /// Moves over the opening of a container that has content, and its first name
    /// where it is an object; or over a scalar or an empty container. True: opened.
    @inline(__always)
    private mutating func openOrSkipScalar(depth: inout Int, objects: inout UInt64) throws(JSONFailure)
        -> Bool
    {
        switch current {
        case UInt8(ascii: "\""):
            position += 1
            if readShortString() == nil { try skipString() }
        case UInt8(ascii: "{"):
            guard try enter(&depth, closing: UInt8(ascii: "}")) else { return false }
            objects = objects << 1 | 1
            try skipName()
            return true
        case UInt8(ascii: "["):
            guard try enter(&depth, closing: UInt8(ascii: "]")) else { return false }
            objects <<= 1
            return true
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
        case UInt8(ascii: "t"): try skipLiteral("true")
        case UInt8(ascii: "f"): try skipLiteral("false")
        case UInt8(ascii: "n"): try skipLiteral("null")
        default: throw syntax("a value")
        }
        return false
    }

    /// Counts the level and steps over the bracket; false where it closes at once.
    private mutating func enter(_ depth: inout Int, closing: UInt8) throws(JSONFailure) -> Bool {
        guard depth < Limits.depthMax else { throw JSONFailure(.depth, at: position, "less nesting") }
        position += 1
        skipWhitespace()
        if current == closing {
            position += 1
            return false
        }
        depth += 1
        return true
    }

    /// After a finished value: moves over the comma to the next one, or over closing
    /// brackets. True when the outermost value is finished.
    @inline(__always)
    private mutating func closeFinished(depth: inout Int, objects: inout UInt64) throws(JSONFailure) -> Bool {
        while depth > 0 {
            skipWhitespace()
            let isObject = objects & 1 == 1
            let byte = current
            if byte == UInt8(ascii: ",") {
                position += 1
                skipWhitespace()
                if isObject { try skipName() }
                return false
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw syntax(isObject ? "a comma or }" : "a comma or ]")
            }
            position += 1
            depth -= 1
            objects >>= 1
        }
        return true
    }

    /// Moves over a member's name and its colon.
    private mutating func skipName() throws(JSONFailure) {
        guard current == UInt8(ascii: "\"") else { throw syntax("a name in quotes") }
        position += 1
        // Most names are short: one load sees the whole of them.
        if readShortString() == nil { try skipString() }
        try skipColon()
    }

    /// Moves over a colon and the white space round it.
    @inline(__always)
    mutating func skipColon() throws(JSONFailure) {
        skipWhitespace()
        guard current == UInt8(ascii: ":") else { throw syntax("a colon") }
        position += 1
        skipWhitespace()
    }

    /// The failure "expected `reason`" at this position.
    func syntax(_ reason: StaticString) -> JSONFailure {
        JSONFailure(.syntax, at: position, reason)
    }

    @inline(__always)
    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && (byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D)
    }
}
