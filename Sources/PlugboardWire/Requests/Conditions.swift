// The conditions of a `where`: they choose the values that an observer gets. They are read and checked
// once, at the time of the subscription. Checking a value allocates nothing. They own the bytes of their
// operands.

import PlugboardMemory

/// Conditions on the parts of a value. All of them must hold. Copies are independent.
///
/// A JSON Pointer names a part. If the value has this part:
/// - `==` holds if the part equals the operand, and `in` if it equals one of several. Numbers are
///   compared as exact decimals, strings by their characters, and arrays in order. The order of members
///   doesn't matter; if a name occurs twice, its last member counts. Values of different types are never
///   equal.
/// - `<`, `<=`, `>` and `>=` compare two numbers (as exact decimals) or two strings (by code point).
///   Between other types they never hold.
/// - `prefix` holds for a string that begins with the operand's characters.
///
/// If the value doesn't have the part, none of these holds. `!=` holds if and only if `==` doesn't, so it
/// also holds without the part. `exists` compares its operand with whether the part exists.
public struct Conditions: Sendable {
    struct Condition {
        let `operator`: ConditionOperator
        /// The number of the part's pointer.
        let part: Int
        /// The condition's operands, as indices of `operands`.
        let operands: Range<Int>
    }

    /// The parts that they ask about.
    public internal(set) var pointers = JSONPointerSet()
    var list: [Condition] = []
    /// The places of the operands in `text`.
    var operands: [ByteRange] = []
    /// The `where` as written.
    let text: [UInt8]

    public var count: Int { list.count }

    /// Whether all conditions hold for `value`, which must be JSON that the scanner accepted. `isFormer` means
    /// that it is the value before the event that the comparer is asked about.
    public func hold(for value: Span<UInt8>, isFormer: Bool = false, using comparer: inout JSONComparer)
        -> Bool
    {
        defer { comparer.forget() }
        return pointers.withParts(of: value, isFormer ? .former : .present, using: &comparer) {
            parts,
            comparer in
            holdAll(for: parts, &comparer)
        }
    }

    /// The same if the places of the parts are known.
    public func hold(
        for value: Span<UInt8>, at places: borrowing KnownPlaces, using comparer: inout JSONComparer
    ) -> Bool {
        defer { comparer.forget() }
        return holdAll(for: places.parts(of: value), &comparer)
    }

    private func holdAll(for parts: borrowing JSONParts, _ comparer: inout JSONComparer) -> Bool {
        for condition in list where !holds(condition, for: parts, &comparer) { return false }
        return true
    }

    private func holds(
        _ condition: Condition, for parts: borrowing JSONParts, _ comparer: inout JSONComparer
    ) -> Bool {
        let operand = operands[condition.operands.lowerBound].bytes(of: text.span)
        guard parts.has(condition.part) else {
            switch condition.operator {
            case .exists: return operand.first == UInt8(ascii: "f")
            case .unequal: return true
            default: return false
            }
        }
        let part = parts[condition.part]
        switch condition.operator {
        case .exists: return operand.first == UInt8(ascii: "t")
        case .equal: return comparer.isPart(condition.part, part, equalTo: operand)
        case .unequal: return !comparer.isPart(condition.part, part, equalTo: operand)
        case .isIn:
            for choice in operands[condition.operands] {
                if comparer.isPart(condition.part, part, equalTo: choice.bytes(of: text.span)) { return true }
            }
            return false
        case .prefix: return Self.begins(part, with: operand)
        case .less, .lessOrEqual, .more, .moreOrEqual:
            return Self.order(part, operand).map { condition.operator.accepts($0) } ?? false
        }
    }

    /// The order of a part and an operand; nil if they can't be compared.
    private static func order(_ part: Span<UInt8>, _ operand: Span<UInt8>) -> Int? {
        switch (JSONOutline.kind(of: part), JSONOutline.kind(of: operand)) {
        case (.number, .number): DecimalOrder.order(part, operand)
        case (.string, .string): JSONCharacters.order(part.characters, operand.characters)
        default: nil
        }
    }

    private static func begins(_ part: Span<UInt8>, with operand: Span<UInt8>) -> Bool {
        guard JSONOutline.kind(of: part) == .string else { return false }
        return JSONCharacters.begins(part.characters, with: operand.characters)
    }
}

extension ConditionOperator {
    fileprivate func accepts(_ order: Int) -> Bool {
        switch self {
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .more: order > 0
        case .moreOrEqual: order >= 0
        default: false
        }
    }
}
