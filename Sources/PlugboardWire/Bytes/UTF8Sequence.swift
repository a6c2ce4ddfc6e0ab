// Checks UTF-8 byte by byte (RFC 3629, section 4). Overlong forms, surrogates and everything above
// U+10FFFF are malformed. It copies nothing.

import PlugboardMemory

/// Checks of UTF-8.
public enum UTF8Sequence {
    /// The length of the sequence that starts at `place`; 0 if it is malformed.
    static func length(_ bytes: Span<UInt8>, at place: Int) -> Int {
        let lead = bytes[place]
        switch lead {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: return continues(bytes, place, 2, 0x80...0xBF)
        case 0xE0: return continues(bytes, place, 3, 0xA0...0xBF)
        case 0xED: return continues(bytes, place, 3, 0x80...0x9F)
        case 0xE1...0xEF: return continues(bytes, place, 3, 0x80...0xBF)
        case 0xF0: return continues(bytes, place, 4, 0x90...0xBF)
        case 0xF1...0xF3: return continues(bytes, place, 4, 0x80...0xBF)
        case 0xF4: return continues(bytes, place, 4, 0x80...0x8F)
        default: return 0
        }
    }

    /// The offset of the first byte that isn't part of well-formed UTF-8; nil if there is none.
    public static func firstMalformed(_ bytes: Span<UInt8>) -> Int? {
        var offset = 0
        while offset < bytes.count {
            // Most bytes are ASCII, and eight of them can be checked at a time.
            if offset + 8 <= bytes.count, bytes.word(at: offset) & 0x8080_8080_8080_8080 == 0 {
                offset += 8
                continue
            }
            let step = length(bytes, at: offset)
            guard step > 0 else { return offset }
            offset += step
        }
        return nil
    }

    /// The character at `place`, and its number of bytes; nil if it is malformed.
    static func character(_ bytes: Span<UInt8>, at place: Int) -> (Unicode.Scalar, count: Int)? {
        let count = length(bytes, at: place)
        guard count > 0 else { return nil }
        let lead = UInt32(bytes[place])
        // The lead byte of a longer sequence has fewer bits of the character.
        var value = count == 1 ? lead : lead & (0x7F >> UInt32(count))
        for index in place + 1..<place + count { value = value << 6 | UInt32(bytes[index] & 0x3F) }
        return Unicode.Scalar(value).map { ($0, count) }
    }

    private static func continues(
        _ bytes: Span<UInt8>, _ place: Int, _ length: Int, _ second: ClosedRange<UInt8>
    ) -> Int {
        guard bytes.count - place >= length, second.contains(bytes[place + 1]) else { return 0 }
        for index in 2..<max(length, 2) where bytes[place + index] & 0xC0 != 0x80 { return 0 }
        return length
    }
}
