// A `where` as it was written becomes conditions, or a refusal that says what to write.

extension Conditions {
    /// Reads a `where`, JSON that the scanner accepted: an object that has for each JSON Pointer
    /// an object of operators with their operands. `offset` is its place in its line.
    ///
    /// Refused are: `wrong_type` for what is of another shape, `limit` for too much of it, and
    /// `duplicate_field` for a pointer or an operator that stands twice.
    public init(where text: UnsafeRawBufferPointer, at offset: Int) throws(Refusal) {
        guard text.count <= Limits.whereBytesMax else {
            throw Refusal(.limit, "\"where\" has at most \(Limits.whereBytesMax) bytes", at: offset)
        }
        self.text = Array(text)
        let outline = try JSONOutline(text, at: offset)
        guard outline.kind(0) == .object, outline.childCount(0) > 0 else {
            let hint = #"for instance {"/price":{"<":100}}"#
            throw Refusal(.wrongType, "\"where\" takes an object of conditions", hint: hint, at: offset)
        }
        var name = 1
        for _ in 0..<outline.childCount(0) {
            try readPart(name, outline, offset)
            name = outline.next(name + 1)
        }
    }

    /// Reads a pointer with all that is asked of its part.
    private mutating func readPart(
        _ name: Int,
        _ outline: borrowing JSONOutline,
        _ offset: Int
    ) throws(Refusal) {
        let place = offset + outline.start(name) + 1
        let known = pointers.count
        let part = try pointers.add(outline.characters(name), at: place)
        guard part == known else {
            let hint = "one object can hold all that is asked of a part"
            throw Refusal(.duplicateField, "\(outline.excerpt(name)) stands twice", hint: hint, at: place)
        }
        let value = name + 1
        guard outline.kind(value) == .object, outline.childCount(value) > 0 else {
            throw Self.noOperators(name, outline, offset)
        }
        var operatorName = value + 1
        for _ in 0..<outline.childCount(value) {
            try readCondition(operatorName, of: part, outline, offset)
            operatorName = outline.next(operatorName + 1)
        }
    }

    private mutating func readCondition(
        _ name: Int,
        of part: Int,
        _ outline: borrowing JSONOutline,
        _ offset: Int
    ) throws(Refusal) {
        let place = offset + outline.start(name) + 1
        guard list.count < Limits.conditionsMax else {
            throw Refusal(.limit, "\"where\" has at most \(Limits.conditionsMax) conditions", at: place)
        }
        let characters = JSONText.characters(outline.characters(name))
        guard let `operator` = characters.withUnsafeBytes({ ConditionOperator($0) }) else {
            let hint = ConditionOperator.hint(for: String(decoding: characters, as: UTF8.self))
            let message = "\"where\" has no operator \(outline.excerpt(name))"
            throw Refusal(.wrongType, message, hint: hint, at: place)
        }
        if list.contains(where: { $0.part == part && $0.operator == `operator` }) {
            throw Refusal(.duplicateField, "\"\(`operator`.name)\" stands twice", at: place)
        }
        let operands = try readOperands(of: `operator`, name + 1, outline, offset)
        list.append(Condition(operator: `operator`, part: part, operands: operands))
    }

    private mutating func readOperands(
        of operator: ConditionOperator,
        _ value: Int,
        _ outline: borrowing JSONOutline,
        _ offset: Int
    ) throws(Refusal) -> Range<Int> {
        let first = operands.count
        guard `operator`.takes(value, of: outline) else {
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

    /// A part was given a plain value, or nothing to compare with.
    private static func noOperators(
        _ name: Int,
        _ outline: borrowing JSONOutline,
        _ offset: Int
    ) -> Refusal {
        let value = name + 1
        let pointer = String(decoding: outline.bytes(name), as: UTF8.self)
        let isPlain = outline.kind(value) != .object
        let meant = isPlain ? "{\"==\":\(PlugboardWire.excerpt(outline.bytes(value)))}" : "{\"exists\":true}"
        return Refusal(
            .wrongType,
            "\(outline.excerpt(name)) takes an object of operators",
            hint: "{\(pointer):\(meant)}",
            at: offset + outline.start(value)
        )
    }
}

extension ConditionOperator {
    /// Whether a value is something to compare with.
    fileprivate func takes(_ value: Int, of outline: borrowing JSONOutline) -> Bool {
        let kind = outline.kind(value)
        return switch self {
        case .equal, .unequal: true
        case .less, .lessOrEqual, .more, .moreOrEqual: kind == .number || kind == .string
        case .isIn: kind == .array && outline.childCount(value) > 0
        case .exists: kind == .literal && outline.bytes(value).first != UInt8(ascii: "n")
        case .prefix: kind == .string
        }
    }
}

extension JSONOutline {
    fileprivate func range(_ node: Int) -> ByteRange {
        ByteRange(start(node), start(node) + bytes(node).count)
    }

    /// A name as it is written, in quotes, shortened where it is long.
    fileprivate func excerpt(_ name: Int) -> String {
        "\"\(PlugboardWire.excerpt(characters(name)))\""
    }
}
