// The conditions of a `where`: what must hold of a value for an observer to be told of it.
// Read and checked once, when it subscribes; then held against every value without
// allocating anything. Owns the bytes of its operands.

import PlugboardMemory

/// Conditions on the parts of a value, all of which must hold. A value to copy.
///
/// A part is named by a JSON Pointer, and is there or not. Of one that is there:
/// - `==` holds where it equals the operand: numbers as exact decimals, strings by their
///   characters, arrays in order, objects whatever the order of their members (of a name
///   that occurs twice the last one counts); `in` where it equals one of several. Values of
///   different types are never equal.
/// - `<` `<=` `>` `>=` hold between two numbers (as exact decimals) or two strings (by code
///   point) that stand so. Between other types none of them holds.
/// - `prefix` holds for a string that begins with the operand's characters.
///
/// Of one that is not there none of these holds. `!=` holds exactly where `==` doesn't, so
/// also where the part isn't there; `exists` holds where its operand says whether it is.
public struct Conditions: Sendable {
    struct Condition {
        let `operator`: ConditionOperator
        /// The number of the part's pointer.
        let part: Int
        /// Places among `operands`.
        let operands: Range<Int>
    }

    var pointers = JSONPointerSet()
    var list: [Condition] = []
    /// Where in `text` the values stand that parts are compared with.
    var operands: [ByteRange] = []
    /// The `where` as it was written.
    let text: [UInt8]

    /// How many conditions there are.
    public var count: Int { list.count }

    /// Whether all conditions hold of `value`, JSON that the scanner accepted.
    public func hold(for value: Span<UInt8>, using comparer: inout JSONComparer) -> Bool {
        defer { comparer.forget() }
        return pointers.withParts(of: value) { parts in
            for condition in list where !holds(condition, for: parts, &comparer) { return false }
            return true
        }
    }

    private func holds(
        _ condition: Condition,
        for parts: borrowing JSONParts,
        _ comparer: inout JSONComparer
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

    /// How a part stands to an operand; nil where they can't be ordered.
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
    /// Whether a part that stands so to the operand is what is asked for.
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
