import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("Invisible characters")
struct InvisibleTests {
    /// Format characters that are drawn: signs before or around digits.
    private static let drawn: Set<UInt32> = [
        0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD,
    ]
    /// Characters that are drawn as nothing, although no property says so.
    private static let blank: Set<UInt32> = [0x2800, 0x16FE4, 0x1D159]

    @Test("are all that Unicode calls control, format, line separator or ignorable, and few others")
    func table() {
        var others: [String] = []
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let properties = scalar.properties
            let isNamed =
                switch properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: true
                case .format: !Self.drawn.contains(value)
                default: properties.isDefaultIgnorableCodePoint || Self.blank.contains(value)
                }
            guard InvisibleCharacters.contains(scalar) != isNamed else { continue }
            others.append("U+" + String(value, radix: 16))
        }
        #expect(others == [])
    }

    @Test("are escaped in what the broker says in its own words, and read back as the same")
    func strings() {
        for (text, json) in [
            ("lamp\u{200B}", #""lamp\u200b""#), ("\u{7F}\u{9B}\u{0}", #""\u007f\u009b\u0000""#),
            ("a\u{E0041}b", #""a\udb40\udc41b""#), ("é 漢 👍🏽 \"\\", #""é 漢 👍🏽 \"\\""#),
            ("\u{AD}\u{10FFFF}\u{FEFF}", "\"\\u00ad\u{10FFFF}\\ufeff\""),
        ] {
            var buffer = ByteBuffer()
            JSONText.append(text, to: &buffer)
            #expect(String(buffer.bytes) == json)
            let characters = JSONText.characters(buffer.bytes[1..<buffer.count - 1])
            #expect(characters == Array(text.utf8))
        }
    }

    @Test("bytes that aren't UTF-8 pass unchanged")
    func malformed() {
        var buffer = ByteBuffer()
        withBytes([0x61, 0xF3, 0xA0, 0x81]) { JSONText.append($0, to: &buffer) }
        #expect(Array(buffer.bytes) == [0x22, 0x61, 0xF3, 0xA0, 0x81, 0x22])
    }
}
