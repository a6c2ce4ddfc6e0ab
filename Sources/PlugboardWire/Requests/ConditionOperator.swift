// The operators of `where`: their names, their operands, and hints for names that don't exist.
// `Conditions` evaluates them. Each operator has exactly one name.

import PlugboardMemory

/// An operator of `where`.
public enum ConditionOperator: UInt8, CaseIterable, Sendable {
    case equal, unequal, less, lessOrEqual, more, moreOrEqual, isIn, exists, prefix

    public var name: StaticString {
        switch self {
        case .equal: "=="
        case .unequal: "!="
        case .less: "<"
        case .lessOrEqual: "<="
        case .more: ">"
        case .moreOrEqual: ">="
        case .isIn: "in"
        case .exists: "exists"
        case .prefix: "prefix"
        }
    }

    /// The operands of the operator, for a person.
    var operand: String {
        switch self {
        case .equal, .unequal: "any value"
        case .less, .lessOrEqual, .more, .moreOrEqual: "a number or a string"
        case .isIn: "an array of 1 to \(Limits.choicesMax) values"
        case .exists: "true or false"
        case .prefix: "a string"
        }
    }

    init?(_ name: Span<UInt8>) {
        for each in Self.allCases where name.isEqual(to: each.name) {
            self = each
            return
        }
        return nil
    }

    /// The hint for a name that doesn't exist: the operator with this name in other languages, or the
    /// nearest name, or all names.
    static func hint(for name: String) -> String {
        let names = allCases.map { $0.name.text }
        if let meant = synonyms[name.lowercased()] { return "did you mean \"\(meant.name)\"?" }
        return Suggestion.hint(for: name, among: names) ?? "there are \(names.joined(separator: " "))"
    }

    private static let synonyms: [String: ConditionOperator] = [
        "=": .equal, "===": .equal, "eq": .equal, "$eq": .equal, "equals": .equal, "is": .equal,
        "!==": .unequal, "<>": .unequal, "~=": .unequal, "ne": .unequal, "$ne": .unequal, "not": .unequal,
        "lt": .less, "$lt": .less, "=<": .lessOrEqual, "≤": .lessOrEqual, "le": .lessOrEqual,
        "lte": .lessOrEqual, "$lte": .lessOrEqual, "gt": .more, "$gt": .more, "=>": .moreOrEqual,
        "≥": .moreOrEqual, "ge": .moreOrEqual, "gte": .moreOrEqual, "$gte": .moreOrEqual, "≠": .unequal,
        "$in": .isIn, "any": .isIn, "oneof": .isIn, "$exists": .exists, "has": .exists, "present": .exists,
        "starts": .prefix, "startswith": .prefix, "beginswith": .prefix, "hasprefix": .prefix, "^": .prefix,
    ]
}
