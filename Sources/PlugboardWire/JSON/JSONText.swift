// Between a string's JSON spelling and its characters: decoded in place (never
// longer than what it was spelled with), encoded with as few escapes as JSON allows.

/// Decoding and encoding of JSON strings.
public enum JSONText {
    /// Replaces escapes by what they mean, in the very bytes of a string that the scanner
    /// accepted (without its quotes). Returns the new length; what follows is left over.
    public static func decodeInPlace(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        guard let raw = bytes.baseAddress else { return 0 }
        let base = raw.assumingMemoryBound(to: UInt8.self)
        var scanner = JSONScanner(UnsafeRawBufferPointer(bytes))
        var target = 0
        while !scanner.isAtEnd {
            let byte = base[scanner.position]
            scanner.position += 1
            if byte != UInt8(ascii: "\\") {
                base[target] = byte
                target += 1
            } else {
                target += decodeEscape(&scanner, to: base + target)
            }
        }
        return target
    }

    /// The characters of a string that the scanner accepted (without its quotes), as UTF-8.
    public static func characters(_ spelling: UnsafeRawBufferPointer) -> [UInt8] {
        var characters = Array(spelling)
        let count = characters.withUnsafeMutableBytes { decodeInPlace($0) }
        characters.removeSubrange(count...)
        return characters
    }

    /// Adds a string with its quotes; `bytes` are UTF-8. Beside what JSON wants escaped, so is what
    /// nobody sees: a terminal obeys U+009B as it does ESC, and shows nothing of U+200B.
    public static func append(_ bytes: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
        buffer.append(byte: UInt8(ascii: "\""))
        var index = 0
        while index < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
            guard rest[0] >= 0x80, let (scalar, count) = UTF8Sequence.first(of: rest) else {
                appendEscaped(rest[0], to: &buffer)
                index += 1
                continue
            }
            if InvisibleCharacters.contains(scalar) {
                buffer.append(string: Printable.escape(scalar))
            } else {
                buffer.append(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            }
            index += count
        }
        buffer.append(byte: UInt8(ascii: "\""))
    }

    /// Adds a string with its quotes.
    public static func append(_ text: String, to buffer: inout ByteBuffer) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0), to: &buffer) }
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

    /// Decodes the escape whose backslash was just passed. Returns how many bytes it became.
    static func decodeEscape(_ scanner: inout JSONScanner, to target: UnsafeMutablePointer<UInt8>) -> Int {
        let byte = scanner.current
        scanner.position += 1
        switch byte {
        case UInt8(ascii: "b"): target[0] = 0x08
        case UInt8(ascii: "f"): target[0] = 0x0C
        case UInt8(ascii: "n"): target[0] = 0x0A
        case UInt8(ascii: "r"): target[0] = 0x0D
        case UInt8(ascii: "t"): target[0] = 0x09
        case UInt8(ascii: "u"): return encode(decodeUnit(&scanner), to: target)
        default: target[0] = byte
        }
        return 1
    }

    /// The character of one `\u` escape, or of two that are a surrogate pair.
    private static func decodeUnit(_ scanner: inout JSONScanner) -> UInt32 {
        // The scanner accepted these digits before; a failure can't come back here.
        let unit = UInt32((try? scanner.readHexUnit()) ?? 0xFFFD)
        guard unit & 0xFC00 == 0xD800 else { return unit }
        scanner.position += 2
        let low = UInt32((try? scanner.readHexUnit()) ?? 0xDC00)
        return 0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)
    }

    /// UTF-8 of one character (RFC 3629, section 3).
    private static func encode(_ scalar: UInt32, to target: UnsafeMutablePointer<UInt8>) -> Int {
        func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(truncatingIfNeeded: scalar >> shift & 0x3F) }
        func lead(_ mark: UInt8, _ shift: UInt32) -> UInt8 {
            mark | UInt8(truncatingIfNeeded: scalar >> shift)
        }
        switch scalar {
        case 0..<0x80:
            target[0] = lead(0, 0)
            return 1
        case 0x80..<0x800:
            (target[0], target[1]) = (lead(0xC0, 6), tail(0))
            return 2
        case 0x800..<0x10000:
            (target[0], target[1], target[2]) = (lead(0xE0, 12), tail(6), tail(0))
            return 3
        default:
            (target[0], target[1], target[2], target[3]) = (lead(0xF0, 18), tail(12), tail(6), tail(0))
            return 4
        }
    }
}
