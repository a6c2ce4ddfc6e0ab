import TestSupport
import Testing

@testable import plugboard

@Suite("The width of texts", .someAtATime)
struct DisplayWidthTests {
    @Test("a character takes one column, East Asian ones and pictures two, combining marks none")
    func widths() {
        #expect(DisplayWidth.of("cart.items") == 10)
        #expect(DisplayWidth.of("üé€→") == 4)
        #expect(DisplayWidth.of("e\u{301}") == 1)
        #expect(DisplayWidth.of("漢字ｶ") == 5)
        #expect(DisplayWidth.of("한글") == 4)
        #expect(DisplayWidth.of("👍🏽❤👨") == 5)
        #expect(DisplayWidth.of("") == 0)
    }

    @Test("a text is padded or cut to a width, never within a wide character")
    func fitted() {
        #expect(DisplayWidth.fitted("abc", 5) == "abc  ")
        #expect(DisplayWidth.fitted("12", 5, atEnd: true) == "   12")
        #expect(DisplayWidth.fitted("abcdef", 4) == "abc…")
        #expect(DisplayWidth.fitted("漢字漢字", 6) == "漢字… ")
        #expect(DisplayWidth.shortened("abc", 3) == "abc")
        #expect(DisplayWidth.shortened("abcd", 1) == "…")
        #expect(DisplayWidth.shortened("abcd", 0) == "")
    }
}

@Suite("Quantities", .someAtATime)
struct QuantityTests {
    @Test("small rates have one decimal")
    func rates() {
        #expect(
            [0, 0.01, 0.333, 2, 9.94, 9.96, 1_234.5, 1e30].map(Amount.rate) == [
                "0", "0.1", "0.3", "2", "9.9", "10", "1,235", "1,000,000,000,000,000,000",
            ]
        )
    }

    @Test("bytes, durations and ages have suitable units")
    func units() {
        #expect(
            [0, 999, 1_000, 12_345, 99_950, 999_499, 999_500, 5_200_000_000].map(Amount.bytes) == [
                "0 B", "999 B", "1.0 kB", "12.3 kB", "100 kB", "999 kB", "1.0 MB", "5.2 GB",
            ]
        )
        #expect(Amount.bytes(.max).hasSuffix(" TB"))
        #expect(
            [0, 0.5, 13, 850.4, 3_400, 2_500_000].map { Amount.duration(microseconds: $0) } == [
                "< 1 µs", "< 1 µs", "13 µs", "850 µs", "3.4 ms", "2.5 s",
            ]
        )
        #expect(
            [1e-7, 0.05, 0.0501, 0.9999, 1, 2.5, 31_536_000].map(Amount.seconds) == [
                "0.001 seconds", "0.05 seconds", "0.051 seconds", "1 second", "1 second", "2.5 seconds",
                "31536000 seconds",
            ]
        )
        #expect(
            [4, 65, 3_600, 172_799, 172_800].map { Amount.age(seconds: $0) } == [
                "4 s", "1:05", "1:00:00", "47:59:59", "2 days",
            ]
        )
    }
}

@Suite("A table on a screen", .someAtATime)
struct TextTableTests {
    private func lines(_ width: Int) -> [String] {
        TextTable(
            columns: [
                .init(title: "KEY", givesWay: true), .init(title: "RATE", atEnd: true),
                .init(title: "TOTAL", atEnd: true, rank: 1), .init(title: "BY", rank: 2),
            ],
            rows: [
                .init(cells: ["cart.summary.of.all", "12", "1,234", "cart"]),
                .init(cells: ["漢字", "3", "7", "me"]),
            ]
        )
        .lines(width: width, paint: Paint(isOn: false))
    }

    @Test("columns are as wide as necessary, numbers at the right")
    func natural() {
        #expect(
            lines(80) == [
                "KEY                  RATE  TOTAL  BY", "cart.summary.of.all    12  1,234  cart",
                "漢字                    3      7  me",
            ]
        )
    }

    @Test("if there is less room, one column shrinks, then the least important ones are left out")
    func narrow() {
        for width in 1...60 {
            for line in lines(width) { #expect(DisplayWidth.of(line) <= width, "\(width): \(line)") }
        }
        #expect(lines(33)[0] == "KEY             RATE  TOTAL  BY")
        #expect(lines(30)[0] == "KEY                RATE  TOTAL")
        #expect(lines(20)[0] == "KEY             RATE")
    }

    @Test("colours in a table take no room, and can be removed again")
    func colours() {
        let table = TextTable(
            columns: [.init(title: "A", givesWay: true)], rows: [.init(cells: ["m\u{308}x"], isMarked: true)]
        )
        let lines = table.lines(width: 10, paint: Paint(isOn: true))
        #expect(lines[1] == "\u{1B}[33mm\u{308}x\u{1B}[0m")
        #expect(lines.map(Paint.without) == ["A", "m\u{308}x"])
    }
}

@Suite("Keys of a keyboard", .someAtATime)
struct KeystrokesTests {
    @Test("letters are recognized, and no part of the bytes of arrows and other keys is a letter")
    func sequences() {
        #expect(keys("q") == [.letter("q")])
        let many = keys("\u{1B}[A\u{1B}[1;5qx\u{1B}Oqy\u{1B}qz")
        #expect(many == [.up, .letter("x"), .letter("y"), .letter("z")])
        #expect(keys("üp") == [.letter("p")])
        #expect(keys("\u{1B}OA\u{1B}[B\u{1B}[5~\u{1B}[6~") == [.up, .down, .pageUp, .pageDown])
        #expect(keys("\u{1B}[H\u{1B}[4~\u{1B}[17~\u{1B}[21~\u{1B}[29~") == [.home, .end, .f6, .f10])
        #expect(keys("\u{1B}[\(String(repeating: "1", count: 1_000))~x") == [.letter("x")])
    }

    private func keys(_ bytes: String) -> [KeyPress] {
        var keys = Keystrokes()
        return keys.take(Array(bytes.utf8))
    }

    @Test("a sequence may come in pieces")
    func pieces() {
        var keys = Keystrokes()
        for piece in ["\u{1B}", "[", "1", "q"] { #expect(keys.take(Array(piece.utf8)) == []) }
        #expect(keys.take(Array("q".utf8)) == [.letter("q")])
    }
}
