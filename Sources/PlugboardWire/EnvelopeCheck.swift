// What is noted of an envelope while it is read, and the judgement when the whole
// of it is known: the operation first, then fields it doesn't take, then those it lacks.

/// The notes on one envelope.
struct EnvelopeCheck {
    /// Fields read so far, unknown ones included.
    var count = 0
    /// The first name that no operation has.
    var unknown: ByteRange?
    /// An `op` that is none.
    var unknownOperation: ByteRange?
    /// Where the `x-` names of this envelope begin among those of the line.
    let extensionsStart: Int
    /// The offset of each known field's name, for messages.
    private var places = SIMD16<UInt32>()

    init(extensionsStart: Int) {
        self.extensionsStart = extensionsStart
    }

    @inline(__always)
    mutating func note(_ field: Field, at offset: Int) {
        places[Int(field.rawValue)] = UInt32(truncatingIfNeeded: offset)
    }

    /// What is wrong with an envelope whose every field reads well; nil where nothing is.
    @inline(__always)
    func refusal(
        of request: Request,
        in line: UnsafeMutableRawBufferPointer,
        at start: Int,
        isWrite: Bool
    ) -> Refusal? {
        let operation = request.operation
        let allowed = isWrite ? operation.allowed.subtracting(FieldSet().with(.id)) : operation.allowed
        let isKnown = unknown == nil && unknownOperation == nil && request.has(.operation)
        let hasRules = operation == .subscribe || operation == .hello || (isWrite && !operation.isBatchable)
        if isKnown, !hasRules, request.fields.subtracting(allowed).isEmpty,
            operation.required.isSubset(of: request.fields)
        {
            return nil
        }
        return judge(request, UnsafeRawBufferPointer(line), start, isWrite)
    }

    private func judge(
        _ request: Request,
        _ line: UnsafeRawBufferPointer,
        _ start: Int,
        _ isWrite: Bool
    ) -> Refusal? {
        if let unknownOperation { return Self.unknownOperation(unknownOperation, line) }
        guard request.has(.operation) else { return missing(.operation, "a request", start) }
        let operation = request.operation
        if isWrite, !operation.isBatchable {
            let message = "a batch takes publish, emit, patch and delete, not \(operation.name)"
            return Refusal(.wrongType, message, at: places(.operation))
        }
        let allowed = isWrite ? operation.allowed.subtracting(FieldSet().with(.id)) : operation.allowed
        if let refusal = unknownField(request, allowed, line) { return refusal }
        if let field = operation.required.subtracting(request.fields).fields.first {
            return missing(field, operation.name.text, start)
        }
        return details(request, line, start)
    }

    /// Rules that tie fields to each other or to their content.
    private func details(_ request: Request, _ line: UnsafeRawBufferPointer, _ start: Int) -> Refusal? {
        switch request.operation {
        case .subscribe:
            if request.has(.key), request.has(.keys) {
                let message = "subscribe takes \"key\" or \"keys\", not both"
                return Refusal(.duplicateField, message, at: max(places(.key), places(.keys)))
            }
            return request.has(.key) || request.has(.keys) ? nil : missing(.key, "subscribe", start)
        case .hello:
            return ClientName.refusal(request.name.bytes(of: line), at: request.name.start)
        default:
            return nil
        }
    }

    private func unknownField(
        _ request: Request,
        _ allowed: FieldSet,
        _ line: UnsafeRawBufferPointer
    ) -> Refusal? {
        let misplaced = request.fields.subtracting(allowed).fields.min { places($0) < places($1) }
        let names = allowed.fields.map { $0.name.text }
        if let unknown, misplaced.map({ unknown.start < places($0) }) ?? true {
            let name = excerpt(unknown.bytes(of: line))
            let message = "\(request.operation.name) has no field \"\(name)\""
            let hint = Suggestion.hint(for: name, among: names)
            return Refusal(.unknownField, message, hint: hint, at: unknown.start)
        }
        guard let misplaced else { return nil }
        let message = "\(request.operation.name) has no field \"\(misplaced.name)\""
        let hint = "it takes \(names.joined(separator: ", "))"
        return Refusal(.unknownField, message, hint: hint, at: places(misplaced))
    }

    private func missing(_ field: Field, _ subject: String, _ start: Int) -> Refusal {
        Refusal(.missingField, "\(subject) needs \"\(field.name)\"", at: start)
    }

    private func places(_ field: Field) -> Int {
        Int(places[Int(field.rawValue)])
    }

    static func unknownOperation(_ range: ByteRange, _ line: UnsafeRawBufferPointer) -> Refusal {
        let word = excerpt(range.bytes(of: line))
        let names = Operation.allCases.map { $0.name.text }
        let hint = Suggestion.hint(for: word, among: names) ?? "try help"
        return Refusal(.unknownOperation, "there is no operation \"\(word)\"", hint: hint, at: range.start)
    }
}

/// The rule for the names that clients give themselves.
enum ClientName {
    static func refusal(_ name: UnsafeRawBufferPointer, at offset: Int) -> Refusal? {
        guard name.count <= Limits.nameBytesMax else {
            return Refusal(.limit, "a name has at most \(Limits.nameBytesMax) bytes", at: offset)
        }
        let isWellFormed = UTF8Sequence.firstMalformed(name) == nil
        let hasControl = name.contains { $0 < 0x20 || $0 == 0x7F }
        guard isWellFormed, !hasControl, let first = name.first else {
            return Refusal(.wrongType, "a name is text without control characters", at: offset)
        }
        guard first != UInt8(ascii: "#"), first != UInt8(ascii: "$") else {
            return Refusal(.wrongType, "a name does not begin with # or $", at: offset)
        }
        return nil
    }
}
