// Reads one envelope after the other: the line's own and, in a batch, those of its
// writes. Keeps what doesn't fit a request: patterns, writes and the first complaint.

import PlugboardMemory

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
    private var places = FieldPlaces()
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
    mutating func begin(_ line: borrowing LineCursor) -> EnvelopeCheck {
        isUsed = true
        return EnvelopeCheck(
            start: line.position,
            extensionsStart: extensionNames.count,
            isWrite: isInWrite
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
        _ line: inout LineCursor,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) -> Bool {
        var goesOn = try check.isAtWrites ? Self.skipComma(&line) : Self.skipOpening(&line)
        check.isAtWrites = false
        while goesOn {
            try decodeMember(&line, &check, into: &request)
            if check.isAtWrites { return false }
            goesOn = try Self.skipComma(&line)
        }
        finish(check, line.bytes, request)
        return true
    }

    /// Moves over the opening brace; false where the object is empty.
    @inline(__always)
    private static func skipOpening(_ line: inout LineCursor) throws(JSONFailure) -> Bool {
        guard line.current == UInt8(ascii: "{") else { throw line.syntax("an object") }
        line.position += 1
        line.skipWhitespace()
        guard line.current == UInt8(ascii: "}") else { return true }
        line.position += 1
        return false
    }

    /// Moves over the comma before the next member; false at the closing brace.
    @inline(__always)
    static func skipComma(_ line: inout LineCursor) throws(JSONFailure) -> Bool {
        line.skipWhitespace()
        let byte = line.current
        guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") else {
            throw line.syntax("a comma or }")
        }
        line.position += 1
        guard byte == UInt8(ascii: ",") else { return false }
        line.skipWhitespace()
        return true
    }

    @inline(__always)
    private mutating func decodeMember(
        _ line: inout LineCursor,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) {
        guard line.current == UInt8(ascii: "\"") else { throw line.syntax("a field's name in quotes") }
        line.position += 1
        let start = line.position
        guard let word = line.readShortString(), let field = Field(NameWord(word: word)) else {
            line.position = start - 1
            return try decodeUnusualMember(&line, &check, into: &request)
        }
        try line.skipColon()
        try decodeField(field, named: start, &line, &check, into: &request)
    }

    /// A member whose name is unknown, or spelled with escapes.
    private mutating func decodeUnusualMember(
        _ line: inout LineCursor,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) {
        let name = try line.decodeString()
        try line.skipColon()
        if let word = NameWord(name.bytes(of: line.bytes)), let field = Field(word) {
            return try decodeField(field, named: name.start, &line, &check, into: &request)
        }
        countField(&check, at: name.start)
        noteUnknown(name, line.bytes, &check)
        try line.skipValue()
    }

    @inline(__always)
    private mutating func decodeField(
        _ field: Field,
        named place: Int,
        _ line: inout LineCursor,
        _ check: inout EnvelopeCheck,
        into request: inout Request
    ) throws(JSONFailure) {
        countField(&check, at: place)
        if request.fields.has(field) {
            complainOfRepeat(field, place)
            return try line.skipValue()
        }
        request.fields = request.fields.with(field)
        places[field, ofWrite: check.isWrite] = place
        try decodeValue(of: field, &line, &check, &request)
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
        _ line: Span<UInt8>,
        _ check: inout EnvelopeCheck
    ) {
        let bytes = name.bytes(of: line)
        guard bytes.starts(with: StaticString("x-").bytes) else {
            if check.unknown == nil { check.unknown = name }
            return
        }
        var isKnown = false
        for known in extensionNames[check.extensionsStart...] where known.bytes(of: line).isEqual(to: bytes) {
            isKnown = true
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
        _ line: Span<UInt8>,
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
        _ line: Span<UInt8>,
        _ request: Request
    ) {
        let refusal = check.refusal(
            of: request,
            options,
            hasWrite: !writes.isEmpty,
            places,
            in: line
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
        let place = places[.whileConnected, ofWrite: true]
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
func excerpt(_ bytes: Span<UInt8>) -> String {
    let most = 48
    guard bytes.count > most else { return String(bytes) }
    return String(bytes[..<most]) + "…"
}

/// The first complaint about a line, on the heap so that good lines pay one word for it.
final class Complaint: Sendable {
    let refusal: Refusal

    init(_ refusal: Refusal) {
        self.refusal = refusal
    }
}
