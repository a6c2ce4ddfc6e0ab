// A place in a line that is being decoded. The line's JSON is scanned. Strings that matter are decoded in
// place, which works because no character is longer than its spelling.

import PlugboardMemory

/// A line whose bytes may change, and the place that reading has reached.
struct LineCursor: ~Copyable, ~Escapable {
    private var memory: MutableSpan<UInt8>
    /// The offset of the next byte.
    var position = 0

    @_lifetime(copy memory)
    init(_ memory: consuming MutableSpan<UInt8>) {
        self.memory = memory
    }

    /// The line with the strings that were decoded so far.
    var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { memory.span }
    }

    @inline(__always) var scanner: JSONScanner {
        @_lifetime(borrow self)
        get { JSONScanner(memory.span, at: position) }
    }

    @inline(__always) var current: UInt8 { scanner.current }

    var isAtEnd: Bool { position >= memory.count }

    @inline(__always)
    mutating func skipWhitespace() {
        var scanner = scanner
        scanner.skipWhitespace()
        position = scanner.position
    }

    mutating func skipValue() throws(JSONFailure) {
        var scanner = scanner
        try scanner.skipValue()
        position = scanner.position
    }

    /// Moves past the rest of a string, from just after its opening quote. Returns whether it contains an
    /// escape.
    @discardableResult
    mutating func skipString() throws(JSONFailure) -> Bool {
        var scanner = scanner
        let hasEscape = try scanner.skipString()
        position = scanner.position
        return hasEscape
    }

    @inline(__always)
    mutating func skipColon() throws(JSONFailure) {
        var scanner = scanner
        try scanner.skipColon()
        position = scanner.position
    }

    @inline(__always)
    mutating func readShortString() -> UInt64? {
        var scanner = scanner
        let word = scanner.readShortString()
        position = scanner.position
        return word
    }

    func integer(_ range: ByteRange) -> Int64? { scanner.integer(range) }

    /// The failure "expected `reason`" at this place.
    func syntax(_ reason: StaticString) -> JSONFailure { scanner.syntax(reason) }

    /// Reads the string that begins here and decodes it in place. Returns the place of the decoded text.
    @inline(__always)
    mutating func decodeString() throws(JSONFailure) -> ByteRange {
        position += 1
        let start = position
        let hasEscape = try skipString()
        let range = ByteRange(start, position - 1)
        return hasEscape ? decode(range) : range
    }

    private mutating func decode(_ range: ByteRange) -> ByteRange {
        let characters = JSONText.characters(range.bytes(of: memory.span))
        for index in characters.indices { memory[range.start + index] = characters[index] }
        return ByteRange(range.start, range.start + characters.count)
    }
}
