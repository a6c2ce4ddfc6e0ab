// What is known of an envelope while it is read, and the check at its end. The check looks at the
// operation first, then for fields that the operation doesn't take, then for fields that it lacks
// (SPEC.md, section 3).

import PlugboardMemory

/// The notes and the check for one envelope.
struct EnvelopeCheck {
    /// The number of fields so far, with unknown ones.
    var count = 0
    /// The first name that isn't a field of any operation.
    var unknown: ByteRange?
    /// The text of `op` if there is no such operation.
    var unknownOperation: ByteRange?
    /// Whether reading has stopped before an array of writes, or before the write of `write`.
    var isAtWrites = false
    /// Whether this envelope is a write within a line.
    let isWrite: Bool
    /// Whether that is the write of a will. Hints don't name what only others take.
    var isOfWill = false
    /// The offset of the envelope in its line.
    let start: Int
    /// The index of this envelope's first `x-` name in the reader's list.
    let extensionsStart: Int

    init(start: Int, extensionsStart: Int, isWrite: Bool) {
        self.start = start
        self.extensionsStart = extensionsStart
        self.isWrite = isWrite
    }

    /// Whether a quick check finds nothing wrong. If it finds something, `refusal` says what.
    @inline(__always)
    func isFaultless(_ request: Request) -> Bool {
        let operation = request.operation
        guard unknown == nil, unknownOperation == nil, request.has(.operation) else { return false }
        guard operation.isPlain else { return false }
        if isWrite, !operation.isWrite || request.has(.id) || request.has(.durable) { return false }
        if operation == .patch, request.has(.field) { return false }
        return request.fields.subtracting(operation.allowed).isEmpty
            && operation.required.isSubset(of: request.fields)
    }

    /// What is wrong with an envelope whose fields could all be read; nil if it is right.
    func refusal(
        of request: Request,
        _ options: RequestOptions,
        hasWrite: Bool,
        _ places: borrowing FieldPlaces,
        in line: Span<UInt8>
    ) -> Refusal? {
        if let unknownOperation { return Self.unknownOperation(unknownOperation, line) }
        guard request.has(.operation) else { return missing(.operation, "a request") }
        let operation = request.operation
        if isWrite, !operation.isWrite {
            let message = "a write is \(Operation.writes("or")), not \(operation.name)"
            return Refusal(.wrongType, message, at: places[.operation, ofWrite: isWrite])
        }
        let ofLine = FieldSet().with(.id).with(.durable)
        let allowed = isWrite ? operation.allowed.subtracting(ofLine) : operation.allowed
        if let refusal = unknownField(request, allowed, places, line) { return refusal }
        if let field = operation.required.subtracting(request.fields).fields.first {
            return missing(field, operation.name.text)
        }
        return details(request, options, hasWrite, places, line)
    }

    /// Checks rules about several fields, or about the content of a field.
    private func details(
        _ request: Request,
        _ options: RequestOptions,
        _ hasWrite: Bool,
        _ places: borrowing FieldPlaces,
        _ line: Span<UInt8>
    ) -> Refusal? {
        switch request.operation {
        case .subscribe:
            return oneOf(.key, .keys, request, places) ?? forms(request, options, places)
                ?? lacksSince(request)
        case .add: return NumberAddition.refusal(of: request.value.bytes(of: line), at: request.value.start)
        case .patch:
            let (patch, field) = (request.value.bytes(of: line), request.field)
            return PartPatch.refusal(of: patch, atField: field.bytes(of: line), at: field.start)
        case .trace: return oneOf(.key, .keys, request, places)
        case .answer: return oneOf(.value, .error, request, places)
        case .hello:
            return ClientName.refusal(options.name.bytes(of: line), at: options.name.start)
        case .explain where !hasWrite:
            return Refusal(
                .wrongType, "explain takes a write, not null", at: places[.write, ofWrite: isWrite]
            )
        default: return nil
        }
    }

    /// Checks that one of two fields is given, but not both.
    private func oneOf(
        _ first: Field, _ second: Field, _ request: Request, _ places: borrowing FieldPlaces
    ) -> Refusal? {
        guard request.has(first), request.has(second) else {
            if request.has(first) || request.has(second) { return nil }
            let message = "\(request.operation.name) needs \"\(first.name)\" or \"\(second.name)\""
            return Refusal(.missingField, message, at: start)
        }
        return tooMany(first, second, request.operation, places)
    }

    /// Checks that at most one option says what events have in place of the value.
    private func forms(
        _ request: Request, _ options: RequestOptions, _ places: borrowing FieldPlaces
    ) -> Refusal? {
        let forms: [(Field, Bool)] = [
            (.fields, request.has(.fields)), (.difference, options.differences), (.values, !options.values),
        ]
        let asked = forms.filter(\.1).map(\.0)
        return asked.count > 1 ? tooMany(asked[0], asked[1], request.operation, places) : nil
    }

    /// Checks that an `epoch` comes with a revision.
    private func lacksSince(_ request: Request) -> Refusal? {
        request.has(.epoch) && !request.has(.since) ? missing(.since, "\"epoch\"") : nil
    }

    private func tooMany(
        _ first: Field, _ second: Field, _ operation: Operation, _ places: borrowing FieldPlaces
    ) -> Refusal {
        let message = "\(operation.name) takes \"\(first.name)\" or \"\(second.name)\", not both"
        return Refusal(
            .duplicateField,
            message,
            at: max(places[first, ofWrite: isWrite], places[second, ofWrite: isWrite])
        )
    }

    private func unknownField(
        _ request: Request, _ allowed: FieldSet, _ places: borrowing FieldPlaces, _ line: Span<UInt8>
    ) -> Refusal? {
        let misplaced = places.first(of: request.fields.subtracting(allowed), ofWrite: isWrite)
        let named = isOfWill ? allowed.subtracting(FieldSet().with(.whileConnected)) : allowed
        let names = named.fields.map { $0.name.text }
        let place = misplaced.map { places[$0, ofWrite: isWrite] } ?? .max
        if let unknown, unknown.start < place {
            let name = excerpt(unknown.bytes(of: line))
            let message = "\(request.operation.name) has no field \"\(name)\""
            let hint = Suggestion.hint(for: name, among: names) ?? Self.taken(names)
            return Refusal(.unknownField, message, hint: hint, at: unknown.start)
        }
        guard let misplaced else { return nil }
        let message = "\(request.operation.name) has no field \"\(misplaced.name)\""
        return Refusal(.unknownField, message, hint: Self.taken(names), at: place)
    }

    private static func taken(_ names: [String]) -> String {
        "it takes \(names.joined(separator: ", "))"
    }

    private func missing(_ field: Field, _ subject: String) -> Refusal {
        Refusal(.missingField, "\(subject) needs \"\(field.name)\"", at: start)
    }

    static func unknownOperation(_ range: ByteRange, _ line: Span<UInt8>) -> Refusal {
        let word = excerpt(range.bytes(of: line))
        let hint = OperationHelp.hint(for: word) ?? "try help"
        return Refusal(.unknownOperation, "there is no operation \"\(word)\"", hint: hint, at: range.start)
    }
}
