// Trees as text, in the shortest or in a random spelling, and back.

import TestSupport

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
    func spelled(_ random: inout SeededRandom) -> String {
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
        guard let node = try? JSONNode(text) else { return nil }
        self.init(node)
    }

    private init(_ node: JSONNode) {
        switch node.content {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .number: self = .number(node.text)
        case .string(let text): self = .string(text)
        case .array(let elements, _): self = .array(elements.map { Tree($0) })
        case .object(let members, _):
            self = .object(members.map { Member(name: Array($0.name.utf8), value: Tree($0.value)) })
        }
    }

    private static func space(_ random: inout SeededRandom) -> String {
        random.oneIn(4) ? [" ", "\t", "  "][random.below(3)] : ""
    }

    private static func quoted(_ characters: [UInt8]) -> String {
        var random: SeededRandom?
        return quoted(characters, &random)
    }

    private static func spelled(_ characters: [UInt8], _ random: inout SeededRandom) -> String {
        var maybe: SeededRandom? = random
        defer { if let maybe { random = maybe } }
        return quoted(characters, &maybe)
    }

    private static func quoted(_ characters: [UInt8], _ random: inout SeededRandom?) -> String {
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
