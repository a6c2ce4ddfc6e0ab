import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("Buffers and text")
struct BufferTests {
    @Test("a buffer returns its bytes in order, however it grew")
    func queue() {
        var buffer = ByteBuffer()
        var expected: [UInt8] = []
        var random = SystemRandomNumberGenerator()
        for step in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...90, using: &random)).map {
                UInt8(truncatingIfNeeded: $0 &+ step)
            }
            withBytes(bytes) { buffer.append($0) }
            expected += bytes
            let taken = Int.random(in: 0...min(expected.count, 80), using: &random)
            #expect(Array(buffer.bytes[..<taken]) == Array(expected.prefix(taken)))
            buffer.removeFirst(taken)
            expected.removeFirst(taken)
        }
        #expect(Array(buffer.bytes) == expected)
        buffer.releaseMemory()
        #expect(buffer.allocatedBytes == 0)
    }

    @Test("integers are written in decimal, near every power of ten and in between")
    func decimals() {
        var values: [UInt64] = [0, 9_007_199_254_740_991, .max]
        var power: UInt64 = 1
        for _ in 0..<20 {
            for offset: UInt64 in 0..<12 {
                values += [power &+ offset, power &- offset, power &* 7 &+ offset]
            }
            power &*= 10
        }
        values += (0..<20_000).map { UInt64($0) &* 4_999 }
        for value in values {
            var buffer = ByteBuffer()
            buffer.append(decimal: value)
            #expect(text(buffer) == String(value))
        }
    }

    @Test("strings are escaped as little as JSON allows, and come back unchanged")
    func strings() {
        let original = "a\"b\\c/\u{1}\u{8}\t\n\u{C}\r\u{1F}\u{7F}\u{80}\u{9B}\u{9F}\u{A0}é😀"
        var buffer = ByteBuffer()
        JSONText.append(original, to: &buffer)
        let escaped = #""a\"b\\c/\u0001\b\t\n\f\r\u001f\u007f\u0080\u009b\u009f"#
        #expect(text(buffer) == escaped + "\u{A0}é😀\"")
        #expect(failure(text(buffer)) == nil)
        let characters = JSONText.characters(buffer.bytes[1..<(buffer.count - 1)])
        #expect(String(decoding: characters, as: UTF8.self) == original)
    }

    @Test("escapes of every plane decode to UTF-8")
    func planes() {
        let spelled = Array(#"\u0041\u00e9\u20ac\ud83d\ude00\/"#.utf8)
        #expect(String(decoding: JSONText.characters(spelled.span), as: UTF8.self) == "Aé€😀/")
    }

    @Test("bytes are equal only if all are, at any length", arguments: 0..<40)
    func equality(count: Int) {
        let bytes = (0..<count).map { UInt8($0 + 1) }
        withBytes(bytes) { bytes in
            #expect(withBytes(Array(bytes)) { bytes.isEqual(to: $0) })
            #expect(withBytes(Array(bytes) + [0]) { !bytes.isEqual(to: $0) })
            for place in 0..<count {
                var other = Array(bytes)
                other[place] ^= 0x80
                #expect(withBytes(other) { !bytes.isEqual(to: $0) })
            }
        }
    }

    @Test("line feeds are found at any place", arguments: 0..<70)
    func lineFeeds(place: Int) {
        var bytes = [UInt8](repeating: 0x20, count: 70)
        bytes[place] = 0x0A
        withBytes(bytes) { bytes in
            #expect(LineFramer.lineFeed(in: bytes, from: 0) == place)
            #expect(LineFramer.lineFeed(in: bytes, from: place) == place)
            #expect(LineFramer.lineFeed(in: bytes, from: place + 1) == nil)
        }
    }

    @Test(
        "near words are suggested, far ones are not",
        arguments: [
            ("publsh", "publish"), ("upblish", "publish"), ("GET", "get"), ("subscibe", "subscribe"),
            ("frob", nil),
        ]
            as [(String, String?)]
    )
    func suggestions(word: String, expected: String?) {
        let names = Operation.allCases.map { "\($0.name)" }
        #expect(Suggestion.nearest(to: word, among: names) == expected)
    }
}

@Suite("Lists")
struct ListTests {
    @Test("a list removes by putting the last in the gap")
    func list() {
        var list = List<Int>()
        for number in 0..<10 { list.append(number) }
        list.removeSwapping(at: 3)
        list.removeSwapping(at: 8)
        let elements = list.all
        #expect(elements == [0, 1, 2, 9, 4, 5, 6, 7])
        list.truncate(to: 2)
        let (last, count) = (list.popLast(), list.count)
        #expect(last == 1)
        #expect(count == 1)
        list.releaseMemory()
        let nothing = list.popLast()
        #expect(nothing == nil)
    }

    @Test("a list gives back in pieces what it doesn't need, and keeps what it has")
    func shrinking() {
        var list = List<UInt64>()
        for number in 0..<100_000 as Range<UInt64> { list.append(number) }
        let isFull = list.shrink(by: 1_000)
        #expect(isFull, "most of it has elements")
        list.truncate(to: 100)
        var pieces = 1
        while !list.shrink(by: 10_000, keeping: 500) { pieces += 1 }
        #expect(pieces >= 10)
        #expect(list.all == Array(0..<100))
        list.removeAll()
        while !list.shrink(by: 100) {}
        let hasMemory = list.hasMemory
        #expect(!hasMemory)
    }
}
