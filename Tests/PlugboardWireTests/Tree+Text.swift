// Trees as text, in the shortest or in a random spelling, and back.

extension Tree {
    /// The shortest text.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let bool): bool ? "true" : "false"
        case .number(let text): text
        case .string(let characters): Self.quoted(characters)
        case .array(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(Self.quoted($0.name)):\($0.value.text)" }.joined(separator: ","))}"
        }
    }

    /// The same JSON with escapes and white space at random places.
    func spelled(_ random: inout SeededGenerator) -> String {
        switch self {
        case .string(let characters): return Self.spelled(characters, &random)
        case .array(let elements):
            let texts = elements.map { "\(Self.space(&random))\($0.spelled(&random))\(Self.space(&random))" }
            return "[\(texts.joined(separator: ","))]"
        case .object(let members):
            let texts = members.map { member in
                let name = Self.spelled(member.name, &random)
                let value = member.value.spelled(&random)
                return "\(Self.space(&random))\(name)\(Self.space(&random)):\(Self.space(&random))\(value)"
            }
            return "{\(texts.joined(separator: ",")) }"
        default: return text
        }
    }

    init?(_ text: String) {
        var reader = TreeReader(bytes: Array(text.utf8))
        guard let tree = reader.value(), reader.isAtEnd else { return nil }
        self = tree
    }

    private static func space(_ random: inout SeededGenerator) -> String {
        random.oneIn(4) ? [" ", "\t", "  "][random.below(3)] : ""
    }

    private static func quoted(_ characters: [UInt8]) -> String {
        var random: SeededGenerator?
        return quoted(characters, &random)
    }

    private static func spelled(_ characters: [UInt8], _ random: inout SeededGenerator) -> String {
        var maybe: SeededGenerator? = random
        defer { if let maybe { random = maybe } }
        return quoted(characters, &maybe)
    }

    private static func quoted(_ characters: [UInt8], _ random: inout SeededGenerator?) -> String {
        let scalars = String(decoding: characters, as: UTF8.self).unicodeScalars
        return "\""
            + scalars.map { scalar in
                let isForced = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
                return isForced || random?.oneIn(5) == true ? escape(scalar) : String(scalar)
            }.joined() + "\""
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}

/// Reads JSON that is known to be well-formed.
private struct TreeReader {
    let bytes: [UInt8]
    private var place = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { place == bytes.count }

    mutating func value() -> Tree? {
        skipSpace()
        defer { skipSpace() }
        guard place < bytes.count else { return nil }
        switch bytes[place] {
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return string().map { .string($0) }
        default: return word()
        }
    }

    private mutating func object() -> Tree? {
        var members: [Tree.Member] = []
        place += 1
        skipSpace()
        while !take("}") {
            if !members.isEmpty, !take(",") { return nil }
            skipSpace()
            guard let name = string() else { return nil }
            skipSpace()
            guard take(":"), let value = value() else { return nil }
            members.append(Tree.Member(name: name, value: value))
        }
        return .object(members)
    }

    private mutating func array() -> Tree? {
        var elements: [Tree] = []
        place += 1
        skipSpace()
        while !take("]") {
            if !elements.isEmpty, !take(",") { return nil }
            guard let element = value() else { return nil }
            elements.append(element)
        }
        return .array(elements)
    }

    private mutating func string() -> [UInt8]? {
        guard take("\"") else { return nil }
        var units: [UInt16] = []
        var plain: [UInt8] = []
        func flushed() -> [UInt16] { Array(String(decoding: plain, as: UTF8.self).utf16) }
        while place < bytes.count, !take("\"") {
            guard take("\\") else {
                plain.append(bytes[place])
                place += 1
                continue
            }
            units += flushed()
            plain = []
            guard let unit = escape() else { return nil }
            units.append(unit)
        }
        return Array(String(decoding: units + flushed(), as: UTF16.self).utf8)
    }

    private mutating func escape() -> UInt16? {
        guard place < bytes.count else { return nil }
        let byte = bytes[place]
        place += 1
        guard byte == UInt8(ascii: "u") else {
            let plain: [UInt8: UInt16] = [0x62: 8, 0x66: 12, 0x6E: 10, 0x72: 13, 0x74: 9]
            return plain[byte] ?? UInt16(byte)
        }
        guard place + 4 <= bytes.count else { return nil }
        defer { place += 4 }
        return UInt16(String(decoding: bytes[place..<place + 4], as: UTF8.self), radix: 16)
    }

    private mutating func word() -> Tree? {
        let start = place
        while place < bytes.count, !" \t\r\n,]}".utf8.contains(bytes[place]) { place += 1 }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        switch text {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: return .number(text)
        }
    }

    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: sign) else { return false }
        place += 1
        return true
    }

    private mutating func skipSpace() {
        while place < bytes.count, " \t\r\n".utf8.contains(bytes[place]) { place += 1 }
    }
}
