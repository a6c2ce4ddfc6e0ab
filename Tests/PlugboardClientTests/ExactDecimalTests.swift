import Testing

@testable import PlugboardClient

@Suite("Exact decimals")
struct ExactDecimalTests {
    @Test("ten thousand times 0.10 is 1000.00")
    func timesTenThousand() {
        #expect(ExactDecimal("0.10")?.multiplied(by: 10_000)?.text(decimals: 2) == "1000.00")
    }

    @Test("0.1 and 0.2 are 0.3, unlike in binary floating point")
    func sum() throws {
        let sum = try #require(ExactDecimal("0.1")).adding(try #require(ExactDecimal("0.2")))
        #expect(sum == ExactDecimal("0.3"))
    }

    @Test(
        "every spelling of a number in JSON is read",
        arguments: [
            ("0", "0"), ("-0", "0"), ("7", "7"), ("-7.50", "-7.5"), ("1e3", "1000"), ("1E+3", "1000"),
            ("12.5e-1", "1.25"), ("0.000000000001", "0.000000000001"), ("0e999999999999", "0"),
            ("100e-2", "1"), ("1.00000000000000000000000000000000000000000000", "1"),
            ("99999999999999999999999999.999999999999", "99999999999999999999999999.999999999999"),
        ]
    )
    func reading(_ text: String, _ exact: String) {
        #expect(ExactDecimal(text)?.description == exact)
    }

    @Test(
        "what JSON doesn't call a number is refused",
        arguments: ["", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x10", "1 ", " 1", "1,5", "NaN", "½", "١"]
    )
    func refusing(_ text: String) {
        #expect(ExactDecimal(text) == nil)
    }

    @Test(
        "a number that can't be held exactly is nil, never rounded",
        arguments: [
            "0.0000000000001", "100000000000000000000000000", "1e26", "1e-13", "1e999999999999999999999",
        ]
    )
    func outOfRange(_ text: String) {
        #expect(ExactDecimal(text) == nil)
    }

    @Test("sums and products beyond the range are nil and don't trap")
    func overflow() throws {
        let large = try #require(ExactDecimal("99999999999999999999999999"))
        #expect(large.adding(large) == nil)
        #expect(large.multiplied(by: .max) == nil)
        #expect(large.multiplied(by: .min) == nil)
        #expect(ExactDecimal(.max).description == "\(Int.max)")
        #expect(ExactDecimal(.min).description == "\(Int.min)")
    }

    @Test(
        "halves are rounded away from zero, and only if fewer decimals are asked for",
        arguments: [
            ("0.005", 2, "0.01"), ("0.0049999", 2, "0.00"), ("-0.005", 2, "-0.01"), ("-0.004", 2, "0.00"),
            ("999.995", 2, "1000.00"), ("1.5", 0, "2"), ("-1.5", 0, "-2"), ("3", 3, "3.000"),
            ("0.5", 99, "0.500000000000"),
            ("0.5", -1, "1"),
        ]
    )
    func rounding(_ text: String, _ decimals: Int, _ rounded: String) {
        #expect(ExactDecimal(text)?.text(decimals: decimals) == rounded)
    }

    @Test("numbers are ordered by value, not by spelling")
    func order() throws {
        let texts = ["-2", "-0.5", "0", "0.10", "0.2", "9", "10.0"]
        let numbers = try texts.map { try #require(ExactDecimal($0)) }
        #expect(numbers.shuffled().sorted() == numbers)
        #expect(ExactDecimal("10.0") == ExactDecimal("1e1"))
    }

    @Test("a JSON number keeps its two decimals when it is written, and text is no number")
    func json() throws {
        #expect(ExactDecimal("1000")?.json(decimals: 2).text == "1000.00")
        #expect(try ExactDecimal(JSON("49.95"))?.description == "49.95")
        #expect(try ExactDecimal(JSON("\"49.95\"")) == nil)
        #expect(ExactDecimal(JSON.null) == nil)
    }
}
