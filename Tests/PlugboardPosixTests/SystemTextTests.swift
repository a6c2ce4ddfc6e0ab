import PlugboardMemory
import PlugboardPosix
import TestSupport
import Testing

@Suite("The system's texts")
struct SystemTextTests {
    @Test("UTF-8 is read as it is")
    func plain() {
        for text in ["", "a", "/home/é/日本/\u{1F600}", "\u{10FF7F}", "\0", "a\u{301}"] {
            #expect(SystemText.text(Array(text.utf8)) == text)
            #expect(SystemText.bytes(text) == Array(text.utf8))
            #expect(SystemText.isUTF8(text))
            #expect(SystemText.shown(text) == text)
        }
    }

    @Test(
        "every other byte is kept, and shown",
        arguments: [
            ([0x63, 0xE9], "c\\xe9"), ([0xFF, 0xFE, 0x80], "\\xff\\xfe\\x80"), ([0xC3], "\\xc3"),
            // Half a surrogate pair, an overlong slash, and more than Unicode has.
            ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"), ([0xC0, 0xAF], "\\xc0\\xaf"),
            ([0xF4, 0x90, 0x80, 0x80], "\\xf4\\x90\\x80\\x80"), ([0xE2, 0x82, 0x41], "\\xe2\\x82A"),
            // The characters that stand for such bytes.
            ([0xF4, 0x8F, 0xBF, 0xA9], "\u{10FFE9}"), ([0xF4, 0x8F, 0xBE, 0x80], "\u{10FF80}"),
            ([0xE9, 0xF4, 0x8F, 0xBE, 0x80, 0x80], "\\xe9\u{10FF80}\\x80"),
        ] as [([UInt8], String)]
    )
    func other(_ bytes: [UInt8], _ shown: String) {
        let text = SystemText.text(bytes)
        #expect(SystemText.bytes(text) == bytes)
        #expect(!SystemText.isUTF8(text))
        #expect(SystemText.shown(text) == shown)
        #expect(SystemText.cString(text).map { UInt8(bitPattern: $0) } == bytes + [0])
    }

    @Test(
        "a text in which each character stands for itself comes back from its other form, and is shown as it is"
    )
    func both() {
        for text in [
            "", "é", "\u{10FF7F}", "\u{10FF80}", "a\u{10FFFF}\u{10FFE9}b", "\u{1F600}\u{10FFC3}\u{A9}",
        ] {
            #expect(SystemText.plain(SystemText.ofPlain(text)) == text)
            #expect(SystemText.shown(SystemText.ofPlain(text)) == text)
        }
    }

    @Test("any bytes come back, and those that are joined, too")
    func random() {
        var random = SeededRandom(1)
        let parts: [[UInt8]] = [
            [0xE9], [0xC3, 0xA9], [0x2F], [0xF4, 0x8F, 0xBF, 0xA9], [0xF4], [0x8F], [0x80], [0xBF],
        ]
        func bytes() -> [UInt8] { (0..<random.below(9)).flatMap { _ in parts[random.below(parts.count)] } }
        for _ in 0..<10_000 {
            let (first, second) = (bytes(), bytes())
            #expect(SystemText.bytes(SystemText.text(first)) == first)
            #expect(SystemText.bytes(SystemText.text(first) + SystemText.text(second)) == first + second)
        }
    }

    @Test("files, links and folders are found under any name")
    func files() throws {
        let folder = try TemporaryFolder()
        let name = SystemText.text([0x63, 0xE9, 0xFF])
        try Folder.make("\(folder.path)/\(name)")
        try folder.write("\(name)/\(name)", "inside")
        #expect(try folder.names() == [name])
        #expect(folder.text("\(name)/\(name)") == "inside")
        #expect(ProgramPath.resolved("\(folder.path)/\(name)")?.hasSuffix("/\(name)") == true)
    }
}
