// JSON, compared with a reader that is simple and slow.

import PlugboardMemory
import PlugboardWire

enum ScannerFuzz {
    static func run(_ bytes: [UInt8]) {
        let isTaken = (try? JSONScanner.validate(bytes.span)) != nil
        hold(isTaken == PlainJSON.isValue(bytes), "taken: \(isTaken)")
        guard isTaken else { return }
        checkMerging(bytes.span)
        checkOutline(bytes.span)
    }

    /// A value merged with itself is JSON, and so is its difference to an empty object.
    private static func checkMerging(_ bytes: Span<UInt8>) {
        var merged = ByteBuffer()
        MergePatch.apply(bytes, to: bytes, into: &merged)
        hold((try? JSONScanner.validate(merged.bytes)) != nil, "merged, it is no JSON")
        var comparer = JSONComparer()
        hold(comparer.areEqual(bytes, bytes), "it differs from itself")
        var change = ByteBuffer()
        if MergeDifference.append(from: bytes, to: merged.bytes, into: &change, using: &comparer) {
            var again = ByteBuffer()
            MergePatch.apply(change.bytes, to: bytes, into: &again)
            hold(comparer.areEqual(again.bytes, merged.bytes), "a difference that leads elsewhere")
        }
    }

    private static func checkOutline(_ bytes: Span<UInt8>) {
        guard let outline = try? JSONOutline(bytes, at: 0) else { return }
        hold(outline.bytes(0, of: bytes).count <= bytes.count, "an outline larger than its text")
    }
}

/// JSON by RFC 8259 and the protocol's limits, one byte at a time.
struct PlainJSON {
    private static let depthMax = 64
    private let bytes: [UInt8]
    private var place = 0

    static func isValue(_ bytes: [UInt8]) -> Bool {
        var reader = PlainJSON(bytes: bytes)
        reader.skipSpace()
        guard reader.value(depth: 0) else { return false }
        reader.skipSpace()
        return reader.place == bytes.count
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func take(_ byte: Character) -> Bool {
        guard let next, next == byte.asciiValue else { return false }
        place += 1
        return true
    }

    private mutating func take(word: String) -> Bool {
        guard bytes[place...].starts(with: word.utf8) else { return false }
        place += word.utf8.count
        return true
    }

    private mutating func skipSpace() {
        while let next, [0x20, 0x09, 0x0A, 0x0D].contains(next) { place += 1 }
    }

    private mutating func value(depth: Int) -> Bool {
        switch next.map({ Character(UnicodeScalar($0)) }) {
        case "{": return list(depth, "}") { $0.member(depth + 1) }
        case "[": return list(depth, "]") { $0.value(depth: depth + 1) }
        case "\"": return string()
        case "t": return take(word: "true")
        case "f": return take(word: "false")
        case "n": return take(word: "null")
        default: return number()
        }
    }

    private mutating func list(_ depth: Int, _ end: Character, _ element: (inout PlainJSON) -> Bool) -> Bool {
        guard depth < Self.depthMax else { return false }
        place += 1
        skipSpace()
        if take(end) { return true }
        while true {
            skipSpace()
            guard element(&self) else { return false }
            skipSpace()
            if take(end) { return true }
            guard take(",") else { return false }
        }
    }

    private mutating func member(_ depth: Int) -> Bool {
        guard string() else { return false }
        skipSpace()
        guard take(":") else { return false }
        skipSpace()
        return value(depth: depth)
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0") { guard digits() else { return false } }
        if take(".") { guard digits() else { return false } }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard digits() else { return false }
        }
        return true
    }

    private mutating func digits() -> Bool {
        let start = place
        while let next, (0x30...0x39).contains(next) { place += 1 }
        return place > start
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        let start = place
        while let byte = next {
            place += 1
            if byte == 0x22 { return isUTF8(start..<(place - 1)) }
            if byte < 0x20 { return false }
            if byte == 0x5C { guard escape() else { return false } }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard let byte = next else { return false }
        place += 1
        guard byte == UInt8(ascii: "u") else { return #""\/bfnrt"#.utf8.contains(byte) }
        guard let unit = hex() else { return false }
        switch unit {
        case 0xD800...0xDBFF:
            guard take("\\"), take("u"), let low = hex() else { return false }
            return (0xDC00...0xDFFF).contains(low)
        case 0xDC00...0xDFFF: return false
        default: return true
        }
    }

    private mutating func hex() -> UInt32? {
        guard place + 4 <= bytes.count else { return nil }
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(UnicodeScalar(bytes[place])).hexDigitValue, bytes[place] < 0x80 else {
                return nil
            }
            unit = unit << 4 | UInt32(digit)
            place += 1
        }
        return unit
    }

    private func isUTF8(_ range: Range<Int>) -> Bool {
        String(validating: bytes[range], as: UTF8.self) != nil
    }
}
