// Operations on borrowed bytes that all modules use: parts, words, searches, comparisons. Nothing here
// copies bytes, except into a String or an Array.
//
// Why the raw memory is safe: every offset is checked against the span's count before it is read. The C
// library gets the span's own address and count, and only for one call.

import CPlatform

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension Span where Element == UInt8 {
    @inlinable
    public subscript(range: Range<Int>) -> Span<UInt8> {
        @_lifetime(copy self)
        get { extracting(range) }
    }

    @inlinable
    public subscript(range: PartialRangeFrom<Int>) -> Span<UInt8> {
        @_lifetime(copy self)
        get { extracting(range) }
    }

    @inlinable
    public subscript(range: PartialRangeUpTo<Int>) -> Span<UInt8> {
        @_lifetime(copy self)
        get { extracting(range) }
    }

    @inlinable public var first: UInt8? { isEmpty ? nil : self[0] }
    @inlinable public var last: UInt8? { isEmpty ? nil : self[count &- 1] }

    /// The eight bytes from `place` on as a word, the first byte lowest.
    @inlinable
    @inline(__always)
    public func word(at place: Int) -> UInt64 {
        precondition(place >= 0 && place &+ 8 <= count)
        return unsafe UInt64(
            littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
        )
    }

    /// The same for four bytes.
    @inlinable
    @inline(__always)
    public func halfWord(at place: Int) -> UInt32 {
        precondition(place >= 0 && place &+ 4 <= count)
        return unsafe UInt32(
            littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt32.self)
        )
    }

    /// The offset of the first `byte` at or after `start`. Uses `memchr`, because no loop in Swift is
    /// nearly as fast.
    @inlinable
    @inline(__always)
    public func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        precondition(start >= 0)
        guard start < count else { return nil }
        return unsafe withUnsafeBufferPointer { bytes in
            guard let first = bytes.baseAddress,
                let found = unsafe memchr(first + start, Int32(byte), bytes.count &- start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(first)
        }
    }

    /// Asks for the memory of the bytes, which will be read soon, without waiting for it.
    @inlinable
    @inline(__always)
    public func prefetch() {
        unsafe withUnsafeBufferPointer { unsafe plugboard_prefetch($0.baseAddress, $0.count) }
    }

    @inlinable
    public func contains(_ byte: UInt8) -> Bool { firstIndex(of: byte) != nil }

    /// How often a byte is among them, counted eight bytes at a time in a loop that the compiler
    /// vectorizes. With a check for each word, it takes more than twice the time.
    public func count(of byte: UInt8) -> Int {
        unsafe withUnsafeBytes { bytes in
            var total = 0
            var start = 0
            while bytes.count &- start >= 8 {
                // After so many words, a lane may have reached the largest number of a byte.
                let words = min((bytes.count &- start) / 8, 255)
                total &+= unsafe Self.count(of: byte, in: bytes, from: start, words: words)
                start &+= words &* 8
            }
            while start < bytes.count {
                if unsafe bytes[start] == byte { total &+= 1 }
                start &+= 1
            }
            return total
        }
    }

    /// Each lane of `counts` counts the matches at its place in the words.
    @inline(__always)
    private static func count(
        of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int, words: Int
    ) -> Int {
        let (lows, sevens): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x7F7F_7F7F_7F7F_7F7F)
        guard let first = bytes.baseAddress else { return 0 }
        var counts: UInt64 = 0
        for word in 0..<words {
            let value = unsafe first.loadUnaligned(fromByteOffset: start &+ word &* 8, as: UInt64.self)
            let difference = value ^ (lows &* UInt64(byte))
            let isOther = ((difference & sevens) &+ sevens) | difference
            counts &+= (~isOther >> 7) & lows
        }
        let pairs = (counts & 0x00FF_00FF_00FF_00FF) &+ ((counts >> 8) & 0x00FF_00FF_00FF_00FF)
        return Int((pairs &* 0x0001_0001_0001_0001) >> 48)
    }

    @inlinable
    @inline(__always)
    public func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        // Most keys, names and numbers are so short that a call takes longer.
        if count <= 16 { return isShortEqual(to: other) }
        return unsafe withUnsafeBufferPointer { left in
            unsafe other.withUnsafeBufferPointer { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                return unsafe memcmp(left, right, count) == 0
            }
        }
    }

    /// The same for up to sixteen bytes, as many as the other ones: two words or halves, which may overlap, or single
    /// bytes.
    @inlinable
    @inline(__always)
    func isShortEqual(to other: Span<UInt8>) -> Bool {
        if count >= 8 {
            let last = count &- 8
            return (word(at: 0) ^ other.word(at: 0)) | (word(at: last) ^ other.word(at: last)) == 0
        }
        if count >= 4 {
            let last = count &- 4
            return (halfWord(at: 0) ^ other.halfWord(at: 0)) | (halfWord(at: last) ^ other.halfWord(at: last))
                == 0
        }
        var place = 0
        while place < count, self[place] == other[place] { place &+= 1 }
        return place == count
    }

    /// Compares byte by byte: negative if these bytes come before `other`, 0 if they are equal, positive
    /// if they come after it.
    @inlinable
    public func order(to other: Span<UInt8>) -> Int {
        let common = min(count, other.count)
        let order = unsafe withUnsafeBufferPointer { left in
            unsafe other.withUnsafeBufferPointer { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return Int32(0) }
                return unsafe memcmp(left, right, common)
            }
        }
        return order == 0 ? count - other.count : Int(order)
    }

    /// A hash that no other process can predict, because each process has its own seed. Protects tables
    /// against keys that are chosen to collide.
    public var seededHash: UInt64 {
        var hasher = Hasher()
        unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    @inlinable
    public func starts(with prefix: Span<UInt8>) -> Bool {
        count >= prefix.count && self[..<prefix.count].isEqual(to: prefix)
    }

    @inlinable
    public func isEqual(to text: StaticString) -> Bool { isEqual(to: text.bytes) }

    public func isEqual(to bytes: [UInt8]) -> Bool { isEqual(to: bytes.span) }
}

extension StaticString {
    /// The UTF-8 of a literal. It lives as long as the program.
    @inlinable
    public var bytes: Span<UInt8> {
        @_lifetime(immortal)
        get {
            let elements = unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
            let span = unsafe Span(_unsafeElements: elements)
            return unsafe _overrideLifetime(span, copying: ())
        }
    }
}

extension StaticString {
    /// The first eight bytes of a literal as a word, the first byte lowest. The compiler computes it.
    @inlinable
    @inline(__always)
    public var word: UInt64 {
        let count = utf8CodeUnitCount
        var word: UInt64 = 0
        var index = 0
        // Not over a range, because a debug build takes long for its iterator.
        while index < 8, index < count {
            word |= unsafe UInt64(utf8Start[index]) &<< UInt64(truncatingIfNeeded: index &* 8)
            index &+= 1
        }
        return word
    }
}

extension String {
    /// The text of UTF-8 bytes. Malformed bytes become U+FFFD.
    @inlinable
    public init(_ bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Lends the string's UTF-8 to `body`.
    @inlinable
    public func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        var text = self
        return text.withUTF8 { utf8 in
            let span = unsafe Span(_unsafeElements: utf8)
            return body(span)
        }
    }
}

extension Array where Element == UInt8 {
    /// A copy of bytes.
    @inlinable
    public init(_ bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Adds a copy of bytes.
    @inlinable
    public mutating func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// The hash of its bytes, as that of a span.
    public var seededHash: UInt64 { span.seededHash }
}
