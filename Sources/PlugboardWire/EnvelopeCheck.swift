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
    /// Stopped in front of an array of writes.
    var isAtWrites = false
    /// Where the envelope begins in its line.
    let start: Int
    /// Where the `x-` names of this envelope begin among those of the line.
    let extensionsStart: Int
    /// The offset of each known field's name, for messages.
    private var places = SIMD16<UInt32>()

    init(start: Int, extensionsStart: Int) {
        self.start = start
        self.extensionsStart = extensionsStart
    }

    @inline(__always)
    mutating func note(_ field: Field, at offset: Int) {
        places[Int(field.rawValue)] = UInt32(truncatingIfNeeded: offset)
    }

    /// Whether nothing is wrong, as far as that can be seen at a glance.
    @inline(__always)
    func isFaultless(_ request: Request, isWrite: Bool) -> Bool {
        let operation = request.operation
        guard unknown == nil, unknownOperation == nil, request.has(.operation) else { return false }
        if isWrite ? (!operation.isBatchable || request.has(.id)) : operation.hasRules { return false }
        return request.fields.subtracting(operation.allowed).isEmpty
            && operation.required.isSubset(of: request.fields)
    }

    /// What is wrong with an envelope whose every field reads well; nil where nothing is.
    func refusal(of request: Request, in line: UnsafeRawBufferPointer, isWrite: Bool)
        -> Refusal?
    {
        if let unknownOperation { return Self.unknownOperation(unknownOperation, line) }
        guard request.has(.operation) else { return missing(.operation, "a request") }
        let operation = request.operation
        if isWrite, !operation.isBatchable {
            let message = "a batch takes publish, emit, patch and delete, not \(operation.name)"
            return Refusal(.wrongType, message, at: places(.operation))
        }
        let allowed = isWrite ? operation.allowed.subtracting(FieldSet().with(.id)) : operation.allowed
        if let refusal = unknownField(request, allowed, line) { return refusal }
        if let field = operation.required.subtracting(request.fields).fields.first {
            return missing(field, operation.name.text)
        }
        return details(request, line)
    }

    /// Rules that tie fields to each other or to their content.
    private func details(_ request: Request, _ line: UnsafeRawBufferPointer) -> Refusal? {
        switch request.operation {
        case .subscribe:
            if request.has(.key), request.has(.keys) {
                let message = "subscribe takes \"key\" or \"keys\", not both"
                return Refusal(.duplicateField, message, at: max(places(.key), places(.keys)))
            }
            return request.has(.key) || request.has(.keys) ? nil : missing(.key, "subscribe")
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
            let hint = Suggestion.hint(for: name, among: names) ?? Self.taken(names)
            return Refusal(.unknownField, message, hint: hint, at: unknown.start)
        }
        guard let misplaced else { return nil }
        let message = "\(request.operation.name) has no field \"\(misplaced.name)\""
        return Refusal(.unknownField, message, hint: Self.taken(names), at: places(misplaced))
    }

    private static func taken(_ names: [String]) -> String {
        "it takes \(names.joined(separator: ", "))"
    }

    private func missing(_ field: Field, _ subject: String) -> Refusal {
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
        guard isWellFormed, !hasControl(name), let first = name.first else {
            return Refusal(.wrongType, "a name is text without control characters", at: offset)
        }
        guard first != UInt8(ascii: "#"), first != UInt8(ascii: "$") else {
            return Refusal(.wrongType, "a name does not begin with # or $", at: offset)
        }
        return nil
    }

    /// C0, DEL and C1, in well-formed UTF-8.
    private static func hasControl(_ name: UnsafeRawBufferPointer) -> Bool {
        zip(name, name.dropFirst()).contains { $0 == 0xC2 && $1 < 0xA0 }
            || name.contains { $0 < 0x20 || $0 == 0x7F }
    }
}
