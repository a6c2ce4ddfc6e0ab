// Texts of the system's: paths, arguments and variables. To the system they are bytes: nearly always UTF-8,
// but they needn't be. Swift's own conversions put U+FFFD in the place of other bytes, so that a file isn't
// found any more, or a child gets another variable. Here each such byte is kept as a character of its own,
// and goes back to the system as the byte that it was.

/// Texts of the system's as strings that keep every byte.
public enum SystemText {
    /// A byte from 0x80 on that isn't part of UTF-8 is kept as this character and the byte. These are the last
    /// characters of Unicode, private ones. If a text has one of them, each of its bytes is kept so.
    private static let kept: UInt32 = 0x10_FF00

    /// The text of these bytes.
    public static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self), isUTF8(text) { return text }
        var scalars = String.UnicodeScalarView()
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var place = 0
        while true {
            let count: Int
            switch parser.parseScalar(from: &iterator) {
            case .emptyInput: return String(scalars)
            case .error(let length): count = length
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                count = encoded.count
                if !isKept(scalar) {
                    scalars.append(scalar)
                    place += count
                    continue
                }
            }
            for byte in bytes[place..<(place + count)] { scalars.append(character(byte)) }
            place += count
        }
    }

    /// The bytes of a text.
    public static func bytes(_ text: String) -> [UInt8] {
        if isUTF8(text) { return Array(text.utf8) }
        return text.unicodeScalars.flatMap { scalar in
            isKept(scalar) ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(String(scalar).utf8)
        }
    }

    /// The bytes with a NUL behind them, as C takes them.
    public static func cString(_ text: String) -> [CChar] {
        bytes(text).map { CChar(bitPattern: $0) } + [0]
    }

    /// Whether a text has no kept byte, and so can be shown, and be a value or a key.
    public static func isUTF8(_ text: String) -> Bool {
        // Only such characters begin with this byte.
        !text.utf8.contains(0xF4) || !text.unicodeScalars.contains(where: isKept)
    }

    /// The text as it was written, if it has no bytes but those of UTF-8; otherwise nil. So a key may have the
    /// characters that stand for kept bytes.
    public static func plain(_ text: String) -> String? {
        isUTF8(text) ? text : String(validating: bytes(text), as: UTF8.self)
    }

    /// The text as a shell reads it between `$'` and `'`, with each kept byte as `\xe9`.
    public static func shown(_ text: String) -> String {
        if isUTF8(text) { return text }
        return text.unicodeScalars.map {
            isKept($0) ? "\\x" + String($0.value & 0xFF, radix: 16) : String($0)
        }
        .joined()
    }

    private static func isKept(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= kept + 0x80 }

    private static func character(_ byte: UInt8) -> Unicode.Scalar {
        Unicode.Scalar(kept + UInt32(byte)) ?? "\u{FFFD}"
    }
}
