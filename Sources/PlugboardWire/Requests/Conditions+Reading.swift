// Reads a `where` into conditions, or refuses it with a hint. A refusal has the place of the mistake in
// the line. The conditions need no further check.

import PlugboardMemory

extension Conditions {
    /// Reads a `where`, which must be JSON that the scanner accepted: an object with, for each JSON
    /// Pointer, an object of operators and operands. `offset` is its place in its line.
    ///
    /// Throws `wrong_type` for another shape, `limit` for too much of something, and `duplicate_field`
    /// for a pointer or an operator that occurs twice.
    public init(where text: Span<UInt8>, at offset: Int) throws(Refusal) {
        guard text.count <= Limits.whereBytesMax else {
            throw Refusal(.limit, "\"where\" has at most \(Limits.whereBytesMax) bytes", at: offset)
        }
        self.text = Array(text)
        let outline = try JSONOutline(text, at: offset)
        guard outline.kind(0, of: text) == .object, outline.childCount(0) > 0 else {
            let hint = #"for instance {"/price":{"<":100}}"#
            throw Refusal(.wrongType, "\"where\" takes an object of conditions", hint: hint, at: offset)
        }
        var name = 1
        for _ in 0..<outline.childCount(0) {
            try readPart(name, outline, text, offset)
            name = outline.next(name + 1)
        }
    }

    /// Reads a pointer and the conditions on its part.
    private mutating func readPart(
        _ name: Int, _ outline: borrowing JSONOutline, _ text: Span<UInt8>, _ offset: Int
    ) throws(Refusal) {
        let place = offset + outline.start(name) + 1
        let known = pointers.count
        let part = try pointers.add(outline.characters(name, of: text), at: place)
        guard part == known else {
            let hint = "one object can hold all that is asked of a part"
            throw Refusal(
                .duplicateField, "\(outline.excerpt(name, of: text)) stands twice", hint: hint, at: place
            )
        }
        let value = name + 1
        guard outline.kind(value, of: text) == .object, outline.childCount(value) > 0 else {
            throw Self.noOperators(name, outline, text, offset)
        }
        var operatorName = value + 1
        let before = list.count
        for _ in 0..<outline.childCount(value) {
            try readCondition(operatorName, of: part, outline, text, offset)
            operatorName = outline.next(operatorName + 1)
        }
        if list.count == before { throw Self.noOperators(name, outline, text, offset) }
    }

    private mutating func readCondition(
        _ name: Int, of part: Int, _ outline: borrowing JSONOutline, _ text: Span<UInt8>, _ offset: Int
    ) throws(Refusal) {
        let place = offset + outline.start(name) + 1
        let characters = JSONText.characters(outline.characters(name, of: text))
        if Field.isExtension(characters.span) { return }
        guard list.count < Limits.conditionsMax else {
            throw Refusal(.limit, "\"where\" has at most \(Limits.conditionsMax) conditions", at: place)
        }
        guard let `operator` = ConditionOperator(characters.span) else {
            let hint = ConditionOperator.hint(for: String(characters.span))
            let message = "\"where\" has no operator \(outline.excerpt(name, of: text))"
            throw Refusal(.wrongType, message, hint: hint, at: place)
        }
        if list.contains(where: { $0.part == part && $0.operator == `operator` }) {
            throw Refusal(.duplicateField, "\"\(`operator`.name)\" stands twice", at: place)
        }
        let operands = try readOperands(of: `operator`, name + 1, outline, text, offset)
        list.append(Condition(operator: `operator`, part: part, operands: operands))
    }

    private mutating func readOperands(
        of operator: ConditionOperator,
        _ value: Int,
        _ outline: borrowing JSONOutline,
        _ text: Span<UInt8>,
        _ offset: Int
    ) throws(Refusal) -> Range<Int> {
        let first = operands.count
        guard `operator`.takes(value, of: outline, text) else {
            let message = "\"\(`operator`.name)\" takes \(`operator`.operand)"
            throw Refusal(.wrongType, message, at: offset + outline.start(value))
        }
        guard `operator` == .isIn else {
            operands.append(outline.range(value))
            return first..<operands.count
        }
        guard outline.childCount(value) <= Limits.choicesMax else {
            let message = "\"in\" takes \(`operator`.operand)"
            throw Refusal(.limit, message, at: offset + outline.start(value))
        }
        var element = value + 1
        for _ in 0..<outline.childCount(value) {
            operands.append(outline.range(element))
            element = outline.next(element)
        }
        return first..<operands.count
    }

    /// The refusal if a part has a plain value or an empty object instead of operators.
    private static func noOperators(
        _ name: Int, _ outline: borrowing JSONOutline, _ text: Span<UInt8>, _ offset: Int
    ) -> Refusal {
        let value = name + 1
        let pointer = String(outline.bytes(name, of: text))
        let isPlain = outline.kind(value, of: text) != .object
        let meant =
            isPlain
            ? "{\"==\":\(PlugboardWire.excerpt(outline.bytes(value, of: text)))}" : "{\"exists\":true}"
        return Refusal(
            .wrongType,
            "\(outline.excerpt(name, of: text)) takes an object of operators",
            hint: "{\(pointer):\(meant)}",
            at: offset + outline.start(value)
        )
    }
}

extension ConditionOperator {
    /// Whether the operator can compare with a value.
    fileprivate func takes(_ value: Int, of outline: borrowing JSONOutline, _ text: Span<UInt8>) -> Bool {
        let kind = outline.kind(value, of: text)
        return switch self {
        case .equal, .unequal: true
        case .less, .lessOrEqual, .more, .moreOrEqual: kind == .number || kind == .string
        case .isIn: kind == .array && outline.childCount(value) > 0
        case .exists: kind == .literal && outline.bytes(value, of: text).first != UInt8(ascii: "n")
        case .prefix: kind == .string
        }
    }
}

extension JSONOutline {
    /// A name as written, in quotes, shortened if it is long.
    fileprivate func excerpt(_ name: Int, of text: Span<UInt8>) -> String {
        "\"\(PlugboardWire.excerpt(characters(name, of: text)))\""
    }
}
