// Converts between a string's JSON spelling and its characters. Decoding never makes a string longer.
// Encoding escapes what JSON requires and characters that can't be seen, nothing else.

import PlugboardMemory

/// Decoding and encoding of JSON strings.
public enum JSONText {
    /// The characters of a string as UTF-8. `spelling` is without quotes, and the scanner accepted it.
    public static func characters(_ spelling: Span<UInt8>) -> [UInt8] {
        var characters: [UInt8] = []
        characters.reserveCapacity(spelling.count)
        var reader = JSONCharacters(spelling)
        while let byte = reader.next() { characters.append(byte) }
        return characters
    }

    /// The same as a String.
    public static func string(_ spelling: Span<UInt8>) -> String {
        spelling.contains(UInt8(ascii: "\\")) ? String(characters(spelling).span) : String(spelling)
    }

    /// Adds a string with its quotes; `bytes` are UTF-8. Escapes what JSON requires, and also characters
    /// that can't be seen: terminals obey U+009B like ESC, and show nothing for U+200B.
    public static func append(_ bytes: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(byte: UInt8(ascii: "\""))
        var index = 0
        while index < bytes.count {
            guard bytes[index] >= 0x80, let (scalar, count) = UTF8Sequence.character(bytes, at: index) else {
                appendEscaped(bytes[index], to: &buffer)
                index += 1
                continue
            }
            if InvisibleCharacters.contains(scalar) {
                buffer.append(string: Printable.escape(scalar))
            } else {
                buffer.append(bytes[index..<index + count])
            }
            index += count
        }
        buffer.append(byte: UInt8(ascii: "\""))
    }

    /// Adds a string with its quotes.
    public static func append(_ text: String, to buffer: inout ByteBuffer) {
        text.withBytes { append($0, to: &buffer) }
    }

    private static func appendEscaped(_ byte: UInt8, to buffer: inout ByteBuffer) {
        switch byte {
        case UInt8(ascii: "\""): buffer.append("\\\"")
        case UInt8(ascii: "\\"): buffer.append("\\\\")
        case 0x08: buffer.append("\\b")
        case 0x09: buffer.append("\\t")
        case 0x0A: buffer.append("\\n")
        case 0x0C: buffer.append("\\f")
        case 0x0D: buffer.append("\\r")
        case 0x00..<0x20, 0x7F: buffer.append(string: Printable.escape(Unicode.Scalar(byte)))
        default: buffer.append(byte: byte)
        }
    }

    /// Decodes one character from an escape, from just after its backslash.
    static func decodeEscape(_ scanner: inout JSONScanner) -> UTF8Word {
        let byte = scanner.current
        scanner.position += 1
        switch byte {
        case UInt8(ascii: "b"): return UTF8Word(0x08)
        case UInt8(ascii: "f"): return UTF8Word(0x0C)
        case UInt8(ascii: "n"): return UTF8Word(0x0A)
        case UInt8(ascii: "r"): return UTF8Word(0x0D)
        case UInt8(ascii: "t"): return UTF8Word(0x09)
        case UInt8(ascii: "u"): return UTF8Word(decodeUnit(&scanner))
        default: return UTF8Word(UInt32(byte))
        }
    }

    /// The character of a `\u` escape, or of the two escapes of a surrogate pair.
    private static func decodeUnit(_ scanner: inout JSONScanner) -> UInt32 {
        // The scanner has accepted these digits, so this can't fail.
        let unit = UInt32((try? scanner.readHexUnit()) ?? 0xFFFD)
        guard unit & 0xFC00 == 0xD800 else { return unit }
        scanner.position += 2
        let low = UInt32((try? scanner.readHexUnit()) ?? 0xDC00)
        return 0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)
    }
}

/// One character as UTF-8 (RFC 3629, section 3), the first byte lowest.
struct UTF8Word {
    var bytes: UInt32
    var count: Int

    init(_ scalar: UInt32) {
        func tail(_ shift: UInt32) -> UInt32 { 0x80 | scalar >> shift & 0x3F }
        switch scalar {
        case 0..<0x80: (bytes, count) = (scalar, 1)
        case 0x80..<0x800: (bytes, count) = (0xC0 | scalar >> 6 | tail(0) << 8, 2)
        case 0x800..<0x10000:
            (bytes, count) = (0xE0 | scalar >> 12 | tail(6) << 8 | tail(0) << 16, 3)
        default:
            (bytes, count) = (0xF0 | scalar >> 18 | tail(12) << 8 | tail(6) << 16 | tail(0) << 24, 4)
        }
    }

    /// Removes and returns the first byte.
    mutating func removeFirst() -> UInt8 {
        let byte = UInt8(truncatingIfNeeded: bytes)
        bytes >>= 8
        count -= 1
        return byte
    }
}
