// The conditions of a subscription's `where`, written with Swift's operators. The broker decides what a
// condition means and whether it is valid.

/// A part of a value, named by a JSON Pointer (RFC 6901), to make conditions.
///
/// ```swift
/// let options = SubscribeOptions(where: [
///     Part("/price") >= 50, Part("/price") < 100, Part("/title").hasPrefix("Nokia"),
///     Part("/discontinued").isAbsent,
/// ])
/// ```
/// Numbers are compared as exact decimals, strings by code points. A part that is missing, or has another
/// type than the operand, meets no comparison except `!=`.
public struct Part: Sendable {
    let pointer: String

    public init(_ pointer: String) {
        self.pointer = pointer
    }

    /// The whole value.
    public static let whole = Part("")

    public static func == (part: Part, value: some ConditionOperand) -> Condition {
        Condition(part, "==", value.conditionOperand)
    }

    /// Also holds if the part is missing.
    public static func != (part: Part, value: some ConditionOperand) -> Condition {
        Condition(part, "!=", value.conditionOperand)
    }

    public static func < (part: Part, value: some ConditionOperand) -> Condition {
        Condition(part, "<", value.conditionOperand)
    }

    public static func <= (part: Part, value: some ConditionOperand) -> Condition {
        Condition(part, "<=", value.conditionOperand)
    }

    public static func > (part: Part, value: some ConditionOperand) -> Condition {
        Condition(part, ">", value.conditionOperand)
    }

    public static func >= (part: Part, value: some ConditionOperand) -> Condition {
        Condition(part, ">=", value.conditionOperand)
    }

    /// The part equals one of 1 to 256 values.
    public func isOne(of values: [some ConditionOperand]) -> Condition {
        Condition(self, "in", .array(values.map(\.conditionOperand)))
    }

    /// The part is a string that begins with `prefix`.
    public func hasPrefix(_ prefix: String) -> Condition {
        Condition(self, "prefix", .string(prefix))
    }

    /// The part exists, even if it is null.
    public var exists: Condition { Condition(self, "exists", true.conditionOperand) }

    public var isAbsent: Condition { Condition(self, "exists", false.conditionOperand) }
}

/// A condition on a part of a value. Make it from a ``Part``.
public struct Condition: Sendable, Equatable {
    let pointer: String
    let comparison: String
    let operand: JSON

    init(_ part: Part, _ comparison: String, _ operand: JSON) {
        pointer = part.pointer
        self.comparison = comparison
        self.operand = operand
    }
}

/// A value with which a part can be compared: a number, a text, a truth value, `ExactDecimal` or `JSON`.
public protocol ConditionOperand {
    /// The value as JSON.
    var conditionOperand: JSON { get }
}

extension Int: ConditionOperand {
    public var conditionOperand: JSON { .integer(self) }
}

extension Double: ConditionOperand {
    /// The shortest decimal for this number. A number that isn't finite becomes null.
    public var conditionOperand: JSON { isFinite ? JSON(trusted: Array("\(self)".utf8)) : .null }
}

extension Bool: ConditionOperand {
    public var conditionOperand: JSON { self ? .true : JSON(trusted: Array("false".utf8)) }
}

extension String: ConditionOperand {
    public var conditionOperand: JSON { .string(self) }
}

extension ExactDecimal: ConditionOperand {
    public var conditionOperand: JSON { JSON(trusted: Array(description.utf8)) }
}

extension JSON: ConditionOperand {
    public var conditionOperand: JSON { self }
}

extension JSON {
    /// The value of `where`: for each part, in the order in which parts are mentioned first, its
    /// conditions.
    static func conditions(_ conditions: [Condition]) -> JSON {
        var parts: [(name: String, comparisons: [(name: String, value: JSON)])] = []
        for condition in conditions {
            let comparison = (name: condition.comparison, value: condition.operand)
            if let index = parts.firstIndex(where: { $0.name == condition.pointer }) {
                parts[index].comparisons.append(comparison)
            } else {
                parts.append((condition.pointer, [comparison]))
            }
        }
        return .object(parts.map { ($0.name, .object($0.comparisons)) })
    }
}
