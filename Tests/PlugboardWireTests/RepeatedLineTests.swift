// A line that repeats the one before it with other digits isn't read again, so it must be the same request.

import PlugboardMemory
import PlugboardWire
import TestSupport
import Testing

@Suite("Repeated lines")
struct RepeatedLineTests {
    /// Whether the second line repeats the first, if they come with one read.
    private func repeats(_ before: [UInt8], _ next: [UInt8], end: [UInt8] = [0x0A]) -> Bool {
        withBytes(before + [0x0A] + next + end) { bytes in
            JSONScanner(bytes).repeats(ByteRange(0, before.count), at: before.count + 1)
        }
    }

    private func publish(_ value: String, key: String = "a.b", id: String = "7") -> [UInt8] {
        Array(#"{"op":"publish","id":\#(id),"key":"\#(key)","value":\#(value)}"#.utf8)
    }

    @Test(
        "have other digits in a number, in a string, in a name",
        arguments: [
            ("1", "2"), ("0", "9"), ("9", "0"), ("10", "21"), ("11", "10"), ("1.50", "2.05"), ("-3", "-4"),
            ("1e10", "2e11"), (#""a1""#, #""a0""#), (#"{"n1":[1,20]}"#, #"{"n2":[3,30]}"#), ("null", "null"),
            (#""café 1""#, #""café 2""#),
            (#""\\ a text that is long 1""#, #""\\ a text that is long 2""#),
        ]
    )
    func digits(before: String, next: String) {
        #expect(repeats(publish(before), publish(next)))
    }

    @Test(
        "don't differ in anything else, nor in digits that mean more",
        arguments: [
            ("10", "00"), ("10", "01"), ("-10", "-01"), ("1", "-"), ("10", "1."), ("1.5", "1e5"),
            ("true", "null"),
            (#""a""#, #""b""#), (#""a""#, #""1""#), (#""\u0041""#, #""\u0042""#),
            (#""\uD83D\uDE00""#, #""\uD13D\uDE00""#),
            ("1", "12"), ("[1,2]", "[1 2]"), (#""\n1""#, #""\n2""#),
        ]
    )
    func others(before: String, next: String) {
        #expect(!repeats(publish(before), publish(next)))
    }

    @Test("have other digits in the key and in the id")
    func fields() {
        #expect(repeats(publish("1", key: "sensor.17", id: "99"), publish("1", key: "sensor.23", id: "10")))
        #expect(!repeats(publish("1", id: "10"), publish("1", id: "01")))
        #expect(!repeats(publish("1", key: "a"), publish("1", key: "b")))
    }

    @Test("end with a line feed, at the same length")
    func ends() {
        let line = publish("1")
        for end in [[], [0x20], [0x0D, 0x0A], [0x20, 0x0A], [0x7D, 0x0A]] as [[UInt8]] {
            #expect(!repeats(line, line, end: end))
        }
        for count in line.indices { #expect(!repeats(line, Array(line[..<count]))) }
    }

    @Test("are at least as long as what is compared at once", arguments: 0...40)
    func lengths(count: Int) {
        let line = Array(repeating: UInt8(ascii: "1"), count: count)
        #expect(repeats(line, line) == (count >= 16))
    }

    @Test("only a line that ends before can be repeated")
    func overlapping() {
        let line = publish("1")
        withBytes(line + [0x0A]) { bytes in
            for place in -20...(bytes.count + 1) {
                let isRepeated = JSONScanner(bytes).repeats(ByteRange(0, line.count), at: place)
                #expect(!isRepeated)
            }
        }
    }

    /// Whether a line is the same request as the one before.
    private func expectSameRequest(_ before: [UInt8], _ next: [UInt8], _ decoder: inout RequestDecoder) {
        var (old, new) = (Request(), Request())
        let arePlain =
            withBytes(before) { decoder.decodePlain($0, into: &old) }
            && withBytes(next) { decoder.decodePlain($0, into: &new) }
        #expect(arePlain && old.operation == new.operation && old.fields == new.fields)
        #expect(old.id == new.id && old.key == new.key && old.value == new.value)
        #expect(old.isDurable == new.isDurable)
    }

    @Test("with any byte at any place: what counts as repeated is the same request, and other digits count")
    func anyByte() {
        var decoder = RequestDecoder()
        let line = publish(
            #"{"price":49.05,"t":"x1","u":"\u0041 and more \\","l":[0,10,-1.5e20,true]}"#,
            id: "12"
        )
        for place in line.indices {
            for byte in UInt8.min...UInt8.max {
                var next = line
                next[place] = byte
                let isRepeated = repeats(line, next)
                if isRepeated { expectSameRequest(line, next, &decoder) }
                let areDigits = [line[place], byte].allSatisfy { (0x31...0x39).contains($0) }
                let isEscaped = line[max(0, place - 20)...min(place + 20, line.count - 1)].contains(0x5C)
                if areDigits, !isEscaped { #expect(isRepeated) }
            }
        }
    }

    @Test("random values with many bytes changed: what counts as repeated is the same request")
    func changes() {
        var decoder = RequestDecoder()
        var random = SeededRandom(19)
        var repeated = 0
        for _ in 0..<4_000 {
            let line = publish(Tree.random(.init(depth: 4), &random).text, id: "1234")
            var next = line
            for place in next.indices where (0x30...0x39).contains(next[place]) {
                if random.oneIn(2) { next[place] = 0x30 + UInt8(random.below(10)) }
                if random.oneIn(40) { next[place] = UInt8(truncatingIfNeeded: random.next()) }
            }
            if repeats(line, next) {
                repeated += 1
                expectSameRequest(line, next, &decoder)
            }
        }
        #expect(repeated > 400)
    }
}
