// Compares the scanner, which looks at many bytes at once, with the grammar of RFC 8259,
// read letter by letter.

import PlugboardWire
import Testing

@Suite("The scanner against the grammar")
struct GrammarTests {
    @Test("they agree on random texts, complete, cut and changed", arguments: 0..<40 as Range<UInt64>)
    func agree(seed: UInt64) {
        var random = Random(state: seed)
        for _ in 0..<50 {
            var text = random.value(depth: 3)
            compare(text)
            compare(Array(text.prefix(random.below(text.count + 1))))
            if !text.isEmpty { text[random.below(text.count)] = random.byte() }
            compare(text)
        }
    }

    private func compare(_ text: [UInt8]) {
        #expect((failure(text) == nil) == Grammar.accepts(text), "\(String(decoding: text, as: UTF8.self))")
    }
}

/// Random texts that are JSON or nearly JSON.
private struct Random {
    var state: UInt64

    mutating func below(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }

    mutating func byte() -> UInt8 {
        let bytes: [UInt8] = Array("{}[]\",:\\tfn0123e+-. \n".utf8) + [0, 0x1F, 0x7F, 0x80, 0xC3, 0xED, 0xF4]
        return bytes[below(bytes.count)]
    }

    mutating func value(depth: Int) -> [UInt8] {
        switch below(depth > 0 ? 9 : 6) {
        case 0: Array(["true", "false", "null", "tru", "nul1"][below(5)].utf8)
        case 1, 2:
            Array(["0", "-0", "12", "1.50", "-3e7", "01", "1e", "1.", "123456789012345678"][below(9)].utf8)
        case 3, 4, 5: string()
        case 6: Array("[".utf8) + list(depth) { $0.value(depth: depth - 1) } + Array("]".utf8)
        default:
            Array("{".utf8) + list(depth) { $0.string() + $0.space(":") + $0.value(depth: depth - 1) }
                + Array("}".utf8)
        }
    }

    private mutating func list(_ depth: Int, _ element: (inout Random) -> [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in 0..<below(4) { bytes += (index > 0 ? space(",") : []) + element(&self) }
        return bytes
    }

    private mutating func space(_ mark: String) -> [UInt8] {
        Array([mark, mark + " ", " \n\t" + mark, mark + "  "][below(4)].utf8)
    }

    private mutating func string() -> [UInt8] {
        let pieces = [
            "a", "name", "seven 7", "12345678", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "é", "€", "😀",
        ]
        var text = "\""
        for _ in 0..<below(8) { text += pieces[below(below(3) == 0 ? pieces.count : 4)] }
        return Array((text + "\"").utf8)
    }
}

/// RFC 8259 as a recursive descent over bytes.
private struct Grammar {
    private var rest: ArraySlice<UInt8>

    static func accepts(_ text: [UInt8]) -> Bool {
        var grammar = Grammar(rest: text[...])
        guard String(validating: text, as: UTF8.self) != nil else { return false }
        return grammar.value() && grammar.rest.isEmpty
    }

    private mutating func value() -> Bool {
        space()
        defer { space() }
        switch rest.first {
        case UInt8(ascii: "{"): return list("{", "}") { $0.name() && $0.take(":") && $0.value() }
        case UInt8(ascii: "["): return list("[", "]") { $0.value() }
        case UInt8(ascii: "\""): return string()
        default: return take("true") || take("false") || take("null") || number()
        }
    }

    private mutating func list(_ open: String, _ close: String, _ element: (inout Grammar) -> Bool) -> Bool {
        guard take(open) else { return false }
        space()
        if take(close) { return true }
        repeat {
            guard element(&self) else { return false }
            space()
        } while take(",")
        return take(close)
    }

    private mutating func name() -> Bool {
        space()
        defer { space() }
        return string()
    }

    private mutating func number() -> Bool {
        _ = take("-")
        guard take("0") || digits() else { return false }
        if take("."), !digits() { return false }
        guard take("e") || take("E") else { return true }
        _ = take("+") || take("-")
        return digits()
    }

    private mutating func digits() -> Bool {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest.dropFirst(digits.count)
        return !digits.isEmpty
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return true }
            if byte < 0x20 { return false }
            if byte == UInt8(ascii: "\\"), !escape() { return false }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard let byte = rest.popFirst() else { return false }
        guard byte == UInt8(ascii: "u") else { return "\"\\/bfnrt".utf8.contains(byte) }
        guard let unit = unit() else { return false }
        guard (0xD800..<0xE000).contains(unit) else { return true }
        guard unit < 0xDC00, take("\\u"), let low = self.unit() else { return false }
        return (0xDC00..<0xE000).contains(low)
    }

    private mutating func unit() -> Int? {
        let digits = rest.prefix(4)
        rest = rest.dropFirst(4)
        guard digits.count == 4, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
            return nil
        }
        return Int(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    private mutating func space() {
        rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }
}
