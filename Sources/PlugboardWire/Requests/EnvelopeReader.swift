// Reads one envelope after the other: the line's own and, in a batch, those of its
// writes. Keeps what doesn't fit a request: patterns, writes and the first complaint.

/// The reading half of a decoder.
struct EnvelopeReader: ~Copyable {
    var writes: [Request] = []
    var patterns: [ByteRange] = []
    var options = RequestOptions()
    /// What `where` and `fields` say.
    var conditions: Conditions?
    var parts: JSONPointerSet?
    private(set) var complaint: Complaint?
    private var extensionNames: [ByteRange] = []
    private let places = FieldPlaces()
    /// Reading a write within the line.
    var isInWrite = false
    /// Which one of a batch's.
    var writeIndex: Int?
    /// Something was read since the last reset that only few lines have.
    private var isUsed = false

    /// Forgets the last line.
    @inline(__always)
    mutating func reset() {
        if isUsed { forget() }
    }

    private mutating func forget() {
        isUsed = false
        isInWrite = false
        writeIndex = nil
        options = RequestOptions()
        if complaint != nil { complaint = nil }
        if conditions != nil { conditions = nil }
        if parts != nil { parts = nil }
        if !writes.isEmpty { writes.removeAll(keepingCapacity: true) }
        if !patterns.isEmpty { patterns.removeAll(keepingCapacity: true) }
        if !extensionNames.isEmpty { extensionNames.removeAll(keepingCapacity: true) }
    }

    /// The notes for an envelope that begins where the scanner is.
    @inline(__always)
    mutating func begin(_ scanner: JSONScanner) -> EnvelopeCheck {
        isUsed = true
        return EnvelopeCheck(
            start: scanner.position,
            extensionsStart: extensionNames.count,
            isWrite: isInWrite,
            places: places.places(ofWrite: isInWrite)
        )
    }

    /// Begins a line of words.
    mutating func beginWords() {
        isUsed = true
    }

    /// Reads an object of fields; `request` has what was read even where this throws.
    /// Returns false where writes stand, which `readWrites` is to read before this is
    /// called again to go on: so that it never calls itself, and can be one piece of code.
    mutating func read(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) -> Bool {
        var goesOn = try check.isAtWrites ? Self.skipComma(&scanner) : Self.skipOpening(&scanner)
        check.isAtWrites = false
        while goesOn {
            try decodeMember(&scanner, line, &check, into: &request)
            if check.isAtWrites { return false }
            goesOn = try Self.skipComma(&scanner)
        }
        finish(check, line, request)
        return true
    }

    /// Moves over the opening brace; false where the object is empty.
    @inline(__always)
    private static func skipOpening(_ scanner: inout JSONScanner) throws(JSONFailure) -> Bool {
        guard scanner.current == UInt8(ascii: "{") else { throw scanner.syntax("an object") }
        scanner.position += 1
        scanner.skipWhitespace()
        guard scanner.current == UInt8(ascii: "}") else { return true }
        scanner.position += 1
        return false
    }

    /// Moves over the comma before the next member; false at the closing brace.
    @inline(__always)
    static func skipComma(_ scanner: inout JSONScanner) throws(JSONFailure) -> Bool {
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
        scanner.position += 1
        let start = scanner.position
        guard let word = scanner.readShortString(), let field = Field(NameWord(word: word)) else {
            scanner.position = start - 1
            return try decodeUnusualMember(&scanner, line, &check, into: &request)
        }
        try scanner.skipColon()
        try decodeField(field, named: start, &scanner, line, &check, into: &request)
    }

    /// A member whose name is unknown, or spelled with escapes.
    private mutating func decodeUnusualMember(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) {
        let name = try decodeString(&scanner, line)
        try scanner.skipColon()
        let bytes = name.bytes(of: UnsafeRawBufferPointer(line))
        if let word = NameWord(bytes), let field = Field(word) {
            return try decodeField(field, named: name.start, &scanner, line, &check, into: &request)
        }
        countField(&check, at: name.start)
        noteUnknown(name, line, &check)
        try scanner.skipValue()
    }

    @inline(__always)
    private mutating func decodeField(
        _ field: Field,
        named place: Int,
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) {
        countField(&check, at: place)
        if request.fields.has(field) {
            complainOfRepeat(field, place)
            return try scanner.skipValue()
        }
        request.fields = request.fields.with(field)
        check.note(field, at: place)
        try decodeValue(of: field, &scanner, line, &check, &request)
    }

    @inline(__always)
    private mutating func countField(_ check: inout EnvelopeCheck, at place: Int) {
        check.count &+= 1
        if check.count == Limits.fieldsMax + 1 { complainOfFields(place) }
    }

    private mutating func complainOfFields(_ place: Int) {
        complain(Refusal(.limit, "at most \(Limits.fieldsMax) fields", at: place))
    }

    private mutating func complainOfRepeat(_ field: Field, _ place: Int) {
        complain(Refusal(.duplicateField, "\"\(field.name.text)\" stands twice", at: place))
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
    @inline(__always)
    private mutating func finish(
        _ check: EnvelopeCheck,
        _ line: UnsafeMutableRawBufferPointer,
        _ request: Request
    ) {
        if extensionNames.count > check.extensionsStart {
            extensionNames.removeSubrange(check.extensionsStart...)
        }
        if complaint != nil || check.isFaultless(request) { return }
        judge(check, line, request)
    }

    private mutating func judge(
        _ check: EnvelopeCheck,
        _ line: UnsafeMutableRawBufferPointer,
        _ request: Request
    ) {
        let refusal = check.refusal(
            of: request,
            options,
            hasWrite: !writes.isEmpty,
            in: UnsafeRawBufferPointer(line)
        )
        if let refusal {
            complain(refusal)
        } else if request.operation == .will {
            checkWill()
        }
    }

    /// The write of a will is made when the connection has ended: it can't depend on it.
    private mutating func checkWill() {
        guard let write = writes.first, write.has(.whileConnected) else { return }
        let place = Int(places.places(ofWrite: true)[Int(Field.whileConnected.rawValue)])
        let message = "the write of a will has no field \"while\": its connection has ended by then"
        complain(Refusal(.unknownField, message, at: place))
    }

    /// Keeps the first complaint of a line.
    mutating func complain(_ refusal: @autoclosure () -> Refusal) {
        guard complaint == nil else { return }
        complaint = Complaint(writeIndex.map { refusal().ofWrite($0) } ?? refusal())
    }
}

/// Some of a peer's text for a message: short, whatever its length was.
func excerpt(_ bytes: UnsafeRawBufferPointer) -> String {
    let most = 48
    guard bytes.count > most else { return String(decoding: bytes, as: UTF8.self) }
    return String(decoding: bytes[..<most], as: UTF8.self) + "…"
}

/// The first complaint about a line, on the heap so that good lines pay one word for it.
final class Complaint: Sendable {
    let refusal: Refusal

    init(_ refusal: Refusal) {
        self.refusal = refusal
    }
}
