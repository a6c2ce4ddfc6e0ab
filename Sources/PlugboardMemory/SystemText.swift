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
        parse(bytes) { scalar, bytes in
            if let scalar, !isKept(scalar) {
                scalars.append(scalar)
            } else {
                scalars.append(contentsOf: bytes.map(character))
            }
        }
        return String(scalars)
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

    /// The other way: a text in which each character stands for itself, such as a key, for a message that may
    /// also have a path.
    public static func ofPlain(_ text: String) -> String {
        isUTF8(text) ? text : Self.text(Array(text.utf8))
    }

    /// The text as a shell reads it between `$'` and `'`, with each byte that isn't part of UTF-8 as `\xe9`.
    public static func shown(_ text: String) -> String {
        if isUTF8(text) { return text }
        var shown = String.UnicodeScalarView()
        parse(bytes(text)) { scalar, bytes in
            if let scalar {
                shown.append(scalar)
            } else {
                for byte in bytes { shown.append(contentsOf: "\\x\(String(byte, radix: 16))".unicodeScalars) }
            }
        }
        return String(shown)
    }

    /// Passes each character with its bytes, and nil with bytes that aren't part of UTF-8.
    private static func parse(_ bytes: [UInt8], _ take: (Unicode.Scalar?, ArraySlice<UInt8>) -> Void) {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var place = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .emptyInput: return
            case .error(let count):
                take(nil, bytes[place..<(place + count)])
                place += count
            case .valid(let encoded):
                take(Unicode.UTF8.decode(encoded), bytes[place..<(place + encoded.count)])
                place += encoded.count
            }
        }
    }

    private static func isKept(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= kept + 0x80 }

    private static func character(_ byte: UInt8) -> Unicode.Scalar {
        Unicode.Scalar(kept + UInt32(byte)) ?? "\u{FFFD}"
    }
}
