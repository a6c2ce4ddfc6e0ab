// The well-formed byte sequences of UTF-8: RFC 3629, section 4. Overlong forms,
// surrogates and everything beyond U+10FFFF are not among them.

/// Checks of UTF-8 at the level of bytes.
public enum UTF8Sequence {
    /// The length of the sequence that starts at `bytes`, or 0 where it is malformed.
    static func length(_ bytes: UnsafePointer<UInt8>, available: Int) -> Int {
        let lead = bytes[0]
        switch lead {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: return continues(bytes, 2, available, 0x80...0xBF)
        case 0xE0: return continues(bytes, 3, available, 0xA0...0xBF)
        case 0xED: return continues(bytes, 3, available, 0x80...0x9F)
        case 0xE1...0xEF: return continues(bytes, 3, available, 0x80...0xBF)
        case 0xF0: return continues(bytes, 4, available, 0x90...0xBF)
        case 0xF1...0xF3: return continues(bytes, 4, available, 0x80...0xBF)
        case 0xF4: return continues(bytes, 4, available, 0x80...0x8F)
        default: return 0
        }
    }

    /// The offset of the first byte that is not part of well-formed UTF-8, if any.
    public static func firstMalformed(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let raw = bytes.baseAddress else { return nil }
        let base = raw.assumingMemoryBound(to: UInt8.self)
        var offset = 0
        while offset < bytes.count {
            let step = length(base + offset, available: bytes.count - offset)
            guard step > 0 else { return offset }
            offset += step
        }
        return nil
    }

    /// The first character, and how many bytes it has; nil where there is none, or it is malformed.
    static func first(of bytes: UnsafeRawBufferPointer) -> (Unicode.Scalar, count: Int)? {
        guard let raw = bytes.baseAddress, bytes.count > 0 else { return nil }
        let count = length(raw.assumingMemoryBound(to: UInt8.self), available: bytes.count)
        guard count > 0 else { return nil }
        // The lead byte has a bit less for each byte behind it.
        var value = count == 1 ? UInt32(bytes[0]) : UInt32(bytes[0]) & (0x7F >> UInt32(count))
        for byte in bytes[1..<count] { value = value << 6 | UInt32(byte & 0x3F) }
        return Unicode.Scalar(value).map { ($0, count) }
    }

    private static func continues(
        _ bytes: UnsafePointer<UInt8>,
        _ length: Int,
        _ available: Int,
        _ second: ClosedRange<UInt8>
    ) -> Int {
        guard available >= length, second.contains(bytes[1]) else { return 0 }
        for index in 2..<max(length, 2) where bytes[index] & 0xC0 != 0x80 { return 0 }
        return length
    }
}
