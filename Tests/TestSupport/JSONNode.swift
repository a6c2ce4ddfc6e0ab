// A small JSON reader for the tests, deliberately not the one under test. It keeps the
// order of members and the text of everything, because replays compare those. Expected
// lines may have the sign `…`; see `Expectation`.
//
// Why buffers: a step through a long text takes several times as long through an array, in a debug build.
// In such a build these buffers check their bounds, too.

/// A piece of JSON: what it is, and the bytes it was written with.
public struct JSONNode: Sendable {
    public indirect enum Content: Sendable {
        case null
        case bool(Bool)
        case number
        case string(String)
        case array([JSONNode], isOpen: Bool)
        case object([Member], isOpen: Bool)
    }

    public struct Member: Sendable {
        public let name: String
        public let value: JSONNode
    }

    public let content: Content
    public let bytes: [UInt8]

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    public var string: String? {
        if case .string(let string) = content { return string }
        return nil
    }

    public var members: [Member]? {
        if case .object(let members, _) = content { return members }
        return nil
    }

    public var elements: [JSONNode]? {
        if case .array(let elements, _) = content { return elements }
        return nil
    }

    public var integer: Int? {
        if case .number = content { return Int(text) }
        return nil
    }

    /// The last member with this name.
    public subscript(name: String) -> JSONNode? {
        members?.last { $0.name == name }?.value
    }

    /// Reads one value and nothing after it. With `wildcards`, a bare `…` may be the last member
    /// of an object or array.
    public init(_ bytes: [UInt8], wildcards: Bool = false) throws {
        var reader = JSONReader(bytes: bytes, wildcards: wildcards)
        self = try reader.whole()
    }

    public init(_ text: String, wildcards: Bool = false) throws {
        try self.init(Array(text.utf8), wildcards: wildcards)
    }

    public init(content: Content, bytes: [UInt8]) {
        self.content = content
        self.bytes = bytes
    }
}

/// Why a text isn't JSON, and where.
public struct JSONProblem: Error, CustomStringConvertible {
    let reason: String
    let offset: Int
    public var description: String { "\(reason) at byte \(offset)" }
}

/// The reader behind `JSONNode`.
private struct JSONReader {
    let bytes: [UInt8]
    let wildcards: Bool
    private var place = 0
    private var depth = 0

    private static let ellipsis = Array("…".utf8)

    init(bytes: [UInt8], wildcards: Bool) {
        self.bytes = bytes
        self.wildcards = wildcards
    }

    mutating func whole() throws -> JSONNode {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw problem("not UTF-8") }
        let node = try value()
        skipSpace()
        guard place == bytes.count else { throw problem("something follows the value") }
        return node
    }

    private mutating func value() throws -> JSONNode {
        skipSpace()
        let start = place
        let content = try content()
        return JSONNode(content: content, bytes: Array(bytes[start..<place]))
    }

    private mutating func content() throws -> JSONNode.Content {
        switch try peek() {
        case UInt8(ascii: "{"): return try nested { try $0.object() }
        case UInt8(ascii: "["): return try nested { try $0.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    /// Deep input would end in a stack overflow, and no test should look like that.
    private mutating func nested(
        _ body: (inout JSONReader) throws -> JSONNode.Content
    ) throws -> JSONNode.Content {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 500 else { throw problem("too deep for the tests") }
        return try body(&self)
    }

    private mutating func object() throws -> JSONNode.Content {
        var members: [JSONNode.Member] = []
        place += 1
        if take("}") { return .object(members, isOpen: false) }
        while true {
            if takeEllipsis() {
                try require("}")
                return .object(members, isOpen: true)
            }
            skipSpace()
            let name = try string()
            try require(":")
            members.append(JSONNode.Member(name: name, value: try value()))
            if take("}") { return .object(members, isOpen: false) }
            try require(",")
        }
    }

    private mutating func array() throws -> JSONNode.Content {
        var elements: [JSONNode] = []
        place += 1
        if take("]") { return .array(elements, isOpen: false) }
        while true {
            if takeEllipsis() {
                try require("]")
                return .array(elements, isOpen: true)
            }
            elements.append(try value())
            if take("]") { return .array(elements, isOpen: false) }
            try require(",")
        }
    }

    private mutating func string() throws -> String {
        guard try peek() == UInt8(ascii: "\"") else { throw problem("a string should begin") }
        place += 1
        var units: [UInt8] = []
        while true {
            let plain = unsafe bytes.withUnsafeBytes { unsafe Self.plainRun(in: $0, from: place) }
            units.append(contentsOf: bytes[place..<(place + plain)])
            place += plain
            let byte = try peek()
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"): units.append(contentsOf: try escape().utf8)
            case 0..<0x20: throw problem("a control character in a string")
            default: units.append(byte)
            }
        }
    }

    /// How many bytes are plain text. It is a separate function because strings may be long.
    private static func plainRun(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var end = start
        while end < bytes.count {
            let byte = unsafe bytes[end]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C { break }
            end += 1
        }
        return end - start
    }

    private mutating func escape() throws -> String {
        let byte = try peek()
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(UnicodeScalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default: throw problem("no such escape")
        }
    }

    private mutating func scalar() throws -> String {
        var units = [try hexadecimal()]
        if 0xD800...0xDBFF ~= units[0] {
            guard try peek() == UInt8(ascii: "\\") else { throw problem("half a surrogate pair") }
            place += 1
            guard try peek() == UInt8(ascii: "u") else { throw problem("half a surrogate pair") }
            place += 1
            units.append(try hexadecimal())
        }
        guard let text = String(validating: units, as: UTF16.self) else {
            throw problem("half a surrogate pair")
        }
        return text
    }

    private mutating func hexadecimal() throws -> UInt16 {
        guard place + 4 <= bytes.count, bytes[place..<place + 4].allSatisfy(\.isHexadecimal),
            let unit = UInt16(String(decoding: bytes[place..<place + 4], as: UTF8.self), radix: 16)
        else { throw problem("four hexadecimal digits should follow") }
        place += 4
        return unit
    }

    private mutating func number() throws -> JSONNode.Content {
        _ = takeByte("-")
        if !takeByte("0") { try digits() }
        if takeByte(".") { try digits() }
        if takeByte("e") || takeByte("E") {
            if !takeByte("+") { _ = takeByte("-") }
            try digits()
        }
        return .number
    }

    private mutating func digits() throws {
        let start = place
        while place < bytes.count, 0x30...0x39 ~= bytes[place] { place += 1 }
        guard place > start else { throw problem("a value should stand here") }
    }

    private mutating func word(_ word: String, _ content: JSONNode.Content) throws -> JSONNode.Content {
        guard bytes[place...].starts(with: word.utf8) else { throw problem("a value should stand here") }
        place += word.utf8.count
        return content
    }

    private mutating func takeEllipsis() -> Bool {
        guard wildcards else { return false }
        skipSpace()
        guard bytes[place...].starts(with: Self.ellipsis) else { return false }
        place += Self.ellipsis.count
        return true
    }

    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        skipSpace()
        return takeByte(sign)
    }

    private mutating func takeByte(_ sign: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: sign) else { return false }
        place += 1
        return true
    }

    private mutating func require(_ sign: Unicode.Scalar) throws {
        guard take(sign) else { throw problem("a \(sign) should stand here") }
    }

    private func peek() throws -> UInt8 {
        guard place < bytes.count else { throw problem("the text ends too early") }
        return bytes[place]
    }

    private mutating func skipSpace() {
        place = unsafe bytes.withUnsafeBytes { bytes in
            var place = place
            while place < bytes.count, unsafe bytes[place] <= 0x20 {
                let byte = unsafe bytes[place]
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { break }
                place += 1
            }
            return place
        }
    }

    private func problem(_ reason: String) -> JSONProblem {
        JSONProblem(reason: reason, offset: place)
    }
}

extension UInt8 {
    fileprivate var isHexadecimal: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
