// The end of every record: its checksum, written and read eight digits at a time. A checksum has only one
// spelling, so any changed digit is detected. All that write or read records use this code.

import PlugboardMemory
import PlugboardWire

/// The end of a record: `,"crc":"1a2b3c4d"}` and a line feed.
enum RecordEnd {
    /// The number of bytes, without the line feed.
    static let bytes = 18
    /// `,"crc":"` as a word, and `"}` with a line feed as another.
    private static let start: UInt64 = 0x223A_2263_7263_222C
    private static let close: UInt32 = 0x000A_7D22
    private static let closeBytes = 3

    @inline(__always)
    static func append(_ checksum: UInt32, to line: inout ByteBuffer) {
        line.append(word: start, count: 8)
        line.append(word: HexDigits.text(checksum), count: 8)
        line.append(word: UInt64(close), count: closeBytes)
    }

    /// The checksum at the end of a line, which has no line feed; nil if there is none. Accepts only the
    /// spelling of `append`.
    @inline(__always)
    static func checksum(of line: Span<UInt8>) -> UInt32? {
        guard line.count > bytes else { return nil }
        let place = line.count - bytes
        guard line.word(at: place) == start, line[place + 16] == UInt8(ascii: "\""),
            line[place + 17] == UInt8(ascii: "}")
        else { return nil }
        return HexDigits.value(line.word(at: place + 8))
    }
}

/// Eight hexadecimal digits as a word, the first digit in the lowest byte.
private enum HexDigits {
    private static let each: UInt64 = 0x0101_0101_0101_0101
    private static let evens: UInt64 = 0x00FF_00FF_00FF_00FF

    /// Lower-case digits.
    @inline(__always)
    static func text(_ value: UInt32) -> UInt64 {
        var word = UInt64(value.byteSwapped)
        word = (word | word &<< 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word &<< 8) & evens
        word = (word &>> 4 | word &<< 8) & (each &* 0x0F)
        let letters = (word &+ each &* 6) &>> 4 & each
        return word &+ each &* 0x30 &+ letters &* 39
    }

    /// Nil if the text isn't what `text` writes.
    @inline(__always)
    static func value(_ text: UInt64) -> UInt32? {
        var word = (text & (each &* 0x0F)) &+ (text &>> 6 & each) &* 9
        word = (word &<< 4 | word &>> 8) & evens
        word = (word | word &>> 8) & 0x0000_FFFF_0000_FFFF
        let value = UInt32(truncatingIfNeeded: word | word &>> 16).byteSwapped
        return self.text(value) == text ? value : nil
    }
}
