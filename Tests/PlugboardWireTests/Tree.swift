// JSON as a tree, for the tests. Trees are made at random, written in many spellings, read
// by a reader of their own, and compared by rules that are written here a second time.

/// A piece of JSON. Strings are UTF-8 bytes, because Swift's strings are equal more often than JSON's.
indirect enum Tree: Hashable {
    struct Member: Hashable {
        var name: [UInt8]
        var value: Tree
    }

    case null
    case bool(Bool)
    case number(String)
    case string([UInt8])
    case array([Tree])
    case object([Member])

    static func string(_ text: String) -> Tree { .string(Array(text.utf8)) }

    /// The same tree for two values exactly if they are equal for differences.
    var asSpelled: Tree {
        switch self {
        case .array(let elements): .array(elements.map(\.asSpelled))
        case .object(let members): .object(Self.sorted(members.map { ($0.name, $0.value.asSpelled) }))
        default: self
        }
    }

    /// The same tree for two values exactly if they are equal for `where`.
    var asMeant: Tree {
        switch self {
        case .number(let text): .number(Self.canonical(text))
        case .array(let elements): .array(elements.map(\.asMeant))
        case .object(let members): .object(Self.sorted(members.map { ($0.name, $0.value.asMeant) }))
        default: self
        }
    }

    /// Whether a name occurs twice in an object, however deep.
    var hasRepeats: Bool {
        switch self {
        case .array(let elements): elements.contains(where: \.hasRepeats)
        case .object(let members):
            Set(members.map(\.name)).count < members.count || members.contains(where: \.value.hasRepeats)
        default: false
        }
    }

    /// The part that a pointer's tokens name.
    func part(_ tokens: ArraySlice<String>) -> Tree? {
        guard let token = tokens.first else { return self }
        switch self {
        case .object(let members):
            return members.last { $0.name == Array(token.utf8) }?.value.part(tokens.dropFirst())
        case .array(let elements):
            guard let index = Int(token), String(index) == token, elements.indices.contains(index) else {
                return nil
            }
            return elements[index].part(tokens.dropFirst())
        default: return nil
        }
    }

    /// If a name occurs twice, its last member counts.
    private static func sorted(_ members: [([UInt8], Tree)]) -> [Member] {
        let last = Dictionary(members, uniquingKeysWith: { $1 })
        return last.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
            Member(name: $0.key, value: $0.value)
        }
    }

    /// Digits without zeros at either end, and an exponent.
    private static func canonical(_ text: String) -> String {
        let parts = text.lowercased().split(separator: "e")
        var digits = String(parts[0].drop { $0 == "-" })
        var exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        if let point = digits.firstIndex(of: ".") {
            exponent -= digits[point...].count - 1
            digits.remove(at: point)
        }
        digits = String(digits.drop { $0 == "0" })
        while digits.hasSuffix("0") {
            digits.removeLast()
            exponent += 1
        }
        return digits.isEmpty ? "0" : "\(text.hasPrefix("-") ? "-" : "")\(digits)e\(exponent)"
    }
}
