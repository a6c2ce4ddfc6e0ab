import PlugboardMemory
import TestSupport
import Testing

@testable import PlugboardWire

/// `protocol/vectors/sums.tsv` has single cases.
@Suite("sums of decimals")
struct DecimalSumTests {
    private func sum(_ left: String, _ right: String) -> String? {
        withBytes(left) { left in
            withBytes(right) { right in
                guard let sum = DecimalSum(right).flatMap({ DecimalSum(left)?.adding($0) }) else {
                    return nil
                }
                var buffer = ByteBuffer()
                sum.append(to: &buffer)
                return text(buffer)
            }
        }
    }

    @Test("small sums are those of integers")
    func integers() {
        var chance = SeededRandom(seed: 17)
        for _ in 0..<2_000 {
            let (left, right) = (chance.below(2_000_001) - 1_000_000, chance.below(2_001) - 1_000)
            #expect(sum("\(left)", "\(right)") == "\(left + right)")
            // The same numbers with four digits after the point.
            let shown =
                "\(left + right < 0 ? "-" : "")\(abs(left + right) / 10_000)."
                + String("\(10_000 + abs(left + right) % 10_000)".dropFirst())
            #expect(sum("\(left)e-4", "\(right)e-4") == shown)
        }
    }

    @Test("long sums don't depend on the order, and what was added can be taken away again")
    func inverse() throws {
        var chance = SeededRandom(seed: 18)
        for _ in 0..<500 {
            let (left, right) = (number(&chance), number(&chance))
            let total = try #require(sum(left, right))
            #expect(sum(right, left) == total)
            let negative = right.first == "-" ? String(right.dropFirst()) : "-" + right
            let back = try #require(sum(total, negative))
            let order = withBytes(back) { back in withBytes(left) { DecimalOrder.order(back, $0) } }
            #expect(order == 0, "\(left) + \(right) = \(total), less the second \(back)")
        }
    }

    @Test("whole numbers are compared as they are with a fraction, and at any length")
    func order() {
        func order(_ left: String, _ right: String) -> Int {
            withBytes(Array(left.utf8)) { left in
                withBytes(Array(right.utf8)) { DecimalOrder.order(left, $0).signum() }
            }
        }
        let long = "1" + String(repeating: "0", count: 30)
        let ascending = ["0", "1", "9", "10", "19", "20", "99", "100", "9007199254740993", long, long + "0"]
        for (left, text) in ascending.enumerated() {
            for (right, other) in ascending.enumerated() {
                let expected = (left - right).signum()
                #expect(order(text, other) == expected, "\(text), \(other)")
                #expect(order(text + ".0", other) == expected && order(text, other + "e0") == expected)
                #expect(order("-" + text, other) == (left == 0 && right == 0 ? 0 : -1))
            }
        }
    }

    @Test("a number is whole only if every byte is a digit, at any length", arguments: 1..<20)
    func whole(count: Int) {
        let digits = (0..<count).map { UInt8(0x30 + ($0 * 7 + 9) % 10) }
        #expect(withBytes(digits) { DecimalOrder.isWhole($0) })
        var wrong: [[UInt8]] = []
        for place in digits.indices {
            // Those next to the digits, those of other numbers, and some that overflow.
            for byte in [0x2F, 0x3A, 0x3F, 0x20, 0x70, 0xFA, 0xFF] + Array(".-+eE".utf8) {
                var number = digits
                number[place] = byte
                if withBytes(number, { DecimalOrder.isWhole($0) }) { wrong.append(number) }
            }
        }
        #expect(wrong == [])
    }

    private func number(_ chance: inout SeededRandom) -> String {
        func digits(_ count: Int) -> String { (0..<count).map { _ in "\(chance.below(10))" }.joined() }
        let fraction = chance.oneIn(2) ? "." + digits(1 + chance.below(30)) : ""
        let exponent = chance.oneIn(3) ? "e\(chance.below(40) - 20)" : ""
        return (chance.oneIn(2) ? "-" : "") + "\(1 + chance.below(9))" + digits(chance.below(30)) + fraction
            + exponent
    }
}
