import PlugboardMemory
import Testing

@testable import PlugboardWire

@Suite("Well-formed UTF-8")
struct UTF8SequenceTests {
    private static let malformed: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0xAF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
        [0xE2, 0x82], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5], [0xFF],
    ]

    /// ASCII is skipped eight bytes at a time, so each place in eight may behave differently.
    @Test("what is malformed is found where it stands, whatever stands round it", arguments: malformed)
    func place(bytes: [UInt8]) {
        for before in 0..<35 {
            for after in [0, 1, 7, 8, 9, 20] {
                for start in ["", "é", "abcdefg漢", "𐀀"] {
                    let head = Array(start.utf8) + [UInt8](repeating: 0x61, count: before)
                    let all = head + bytes + [UInt8](repeating: 0x7A, count: after)
                    #expect(UTF8Sequence.firstMalformed(all.span) == head.count, "\(all)")
                }
            }
        }
    }

    @Test("what is well-formed is, at every length")
    func whole() {
        for count in 0..<35 {
            for end in ["", "é", "漢", "𐀀", "\u{7F}\u{0}", "éx漢y𐀀z"] {
                let text = String(repeating: "a", count: count) + end + String(repeating: "b", count: count)
                #expect(UTF8Sequence.firstMalformed(Array(text.utf8).span) == nil, "\(text)")
            }
        }
    }
}
