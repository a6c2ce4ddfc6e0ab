// From one line's bytes to a request, in a single pass: fields are found, strings
// that matter are decoded in place, the value is validated and left alone. A line
// that is malformed anywhere is refused as such; else the first mistake in it is told.

/// Decodes lines. One per thread; it keeps its memory from line to line.
public struct RequestDecoder: ~Copyable {
    /// The request of the last line; after a refusal, what was read of it (its `id`).
    public private(set) var request = Request()
    /// The writes of a `batch`.
    public private(set) var writes: [Request] = []
    /// The texts of `keys`.
    public internal(set) var patterns: [ByteRange] = []
    var complaint: Refusal?
    private var extensionNames: [ByteRange] = []
    private var writeIndex: Int?

    public init() {}

    /// Decodes a line without its line feed. The bytes of decoded strings change in place.
    /// The results hold until the next call.
    public mutating func decode(_ line: UnsafeMutableRawBufferPointer) throws(Refusal) {
        reset()
        if Self.isShorthand(UnsafeRawBufferPointer(line)) {
            var words = Request()
            words.isShorthand = true
            defer { request = words }
            return try decodeShorthand(UnsafeRawBufferPointer(line), into: &words)
        }
        try decodeJSON(line)
    }

    /// Whether a line holds nothing to execute: blank, or a comment.
    public static func isIgnored(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let first = line.first else { return true }
        if first == UInt8(ascii: "{") { return false }
        return first == UInt8(ascii: "#") || line.allSatisfy { JSONScanner.isWhitespace($0) }
    }

    private static func isShorthand(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let first = line.first else { return false }
        return first != UInt8(ascii: "{") && !JSONScanner.isWhitespace(first)
    }

    private mutating func reset() {
        request = Request()
        complaint = nil
        writeIndex = nil
        if !writes.isEmpty { writes.removeAll(keepingCapacity: true) }
        if !patterns.isEmpty { patterns.removeAll(keepingCapacity: true) }
        if !extensionNames.isEmpty { extensionNames.removeAll(keepingCapacity: true) }
    }

    private mutating func decodeJSON(_ line: UnsafeMutableRawBufferPointer) throws(Refusal) {
        var scanner = JSONScanner(UnsafeRawBufferPointer(line))
        var envelope = Request()
        do throws(JSONFailure) {
            scanner.skipWhitespace()
            try decodeEnvelope(&scanner, line, into: &envelope)
            scanner.skipWhitespace()
            guard scanner.isAtEnd else { throw scanner.syntax("nothing more after the object") }
        } catch {
            request = envelope
            throw Refusal(error)
        }
        request = envelope
        if let complaint { throw complaint }
    }

    /// Reads an object of fields; `request` has what was read even where this throws.
    private mutating func decodeEnvelope(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        into request: inout Request
    ) throws(JSONFailure) {
        guard scanner.current == UInt8(ascii: "{") else { throw scanner.syntax("an object") }
        let start = scanner.position
        var check = EnvelopeCheck(extensionsStart: extensionNames.count)
        scanner.position += 1
        scanner.skipWhitespace()
        if scanner.current == UInt8(ascii: "}") {
            scanner.position += 1
        } else {
            var goesOn = true
            while goesOn {
                try decodeMember(&scanner, line, &check, into: &request)
                goesOn = try Self.skipComma(&scanner)
            }
        }
        finish(check, at: start, line, request)
    }

    /// Moves over the comma before the next member; false at the closing brace.
    @inline(__always)
    private static func skipComma(_ scanner: inout JSONScanner) throws(JSONFailure) -> Bool {
        scanner.skipWhitespace()
        let byte = scanner.current
        guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") else {
            throw scanner.syntax("a comma or }")
        }
        scanner.position += 1
        guard byte == UInt8(ascii: ",") else { return false }
        scanner.skipWhitespace()
        return true
    }

    @inline(__always)
    private mutating func decodeMember(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) {
        guard scanner.current == UInt8(ascii: "\"") else { throw scanner.syntax("a field's name in quotes") }
        let name = try decodeString(&scanner, line)
        try scanner.skipColon()
        check.count += 1
        if check.count == Limits.fieldsMax + 1 {
            complain(Refusal(.limit, "at most \(Limits.fieldsMax) fields", at: name.start))
        }
        guard let field = Field(name.bytes(of: UnsafeRawBufferPointer(line))) else {
            noteUnknown(name, line, &check)
            return try scanner.skipValue()
        }
        if request.fields.has(field) {
            complain(Refusal(.duplicateField, "\"\(field.name.text)\" stands twice", at: name.start))
            return try scanner.skipValue()
        }
        request.fields = request.fields.with(field)
        check.note(field, at: name.start)
        try decodeValue(of: field, &scanner, line, &check, &request)
    }

    private mutating func noteUnknown(
        _ name: ByteRange,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck
    ) {
        let bytes = name.bytes(of: UnsafeRawBufferPointer(line))
        guard bytes.starts(with: [UInt8(ascii: "x"), UInt8(ascii: "-")]) else {
            if check.unknown == nil { check.unknown = name }
            return
        }
        let isKnown = extensionNames[check.extensionsStart...].contains {
            $0.bytes(of: UnsafeRawBufferPointer(line)).elementsEqual(bytes)
        }
        if isKnown {
            complain(Refusal(.duplicateField, "\"\(excerpt(bytes))\" stands twice", at: name.start))
        } else if extensionNames.count - check.extensionsStart < Limits.fieldsMax {
            extensionNames.append(name)
        }
    }

    /// What can only be judged when the whole envelope is known.
    private mutating func finish(
        _ check: EnvelopeCheck,
        at start: Int,
        _ line: UnsafeMutableRawBufferPointer,
        _ request: Request
    ) {
        if extensionNames.count > check.extensionsStart {
            extensionNames.removeSubrange(check.extensionsStart...)
        }
        if complaint == nil,
            let refusal = check.refusal(of: request, in: line, at: start, isWrite: writeIndex != nil)
        {
            complain(refusal)
        }
    }

    /// Keeps the first complaint of a line.
    mutating func complain(_ refusal: @autoclosure () -> Refusal) {
        guard complaint == nil else { return }
        complaint = refusal()
        complaint?.write = writeIndex
    }

    /// Reads `writes`: each an envelope of its own.
    mutating func decodeWrites(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        guard writeIndex == nil, scanner.current == UInt8(ascii: "[") else {
            return try refuseType(of: .writes, "an array of writes", &scanner)
        }
        scanner.position += 1
        scanner.skipWhitespace()
        if scanner.current == UInt8(ascii: "]") {
            scanner.position += 1
            return
        }
        var goesOn = true
        while goesOn {
            writeIndex = (writeIndex ?? -1) + 1
            try decodeWrite(&scanner, line)
            goesOn = try Self.skipElementComma(&scanner)
        }
        writeIndex = nil
    }

    private mutating func decodeWrite(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        guard scanner.current == UInt8(ascii: "{") else {
            complain(Refusal(.wrongType, "a write is an object", at: scanner.position))
            return try scanner.skipValue()
        }
        if writes.count == Limits.batchWritesMax {
            complain(
                Refusal(.limit, "a batch holds at most \(Limits.batchWritesMax) writes", at: scanner.position)
            )
        }
        var write = Request()
        try decodeEnvelope(&scanner, line, into: &write)
        if writes.count < Limits.batchWritesMax { writes.append(write) }
    }

    static func skipElementComma(_ scanner: inout JSONScanner) throws(JSONFailure) -> Bool {
        scanner.skipWhitespace()
        let byte = scanner.current
        guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") else {
            throw scanner.syntax("a comma or ]")
        }
        scanner.position += 1
        scanner.skipWhitespace()
        return byte == UInt8(ascii: ",")
    }
}

/// Some of a peer's text for a message: short, whatever its length was.
func excerpt(_ bytes: UnsafeRawBufferPointer) -> String {
    let most = 48
    guard bytes.count > most else { return String(decoding: bytes, as: UTF8.self) }
    return String(decoding: bytes[..<most], as: UTF8.self) + "…"
}
