// Reads envelopes: that of the line and, if it has writes, theirs. The decoder owns the reader. The
// reader keeps what doesn't fit in a request: patterns, options, writes and the first complaint. After a
// complaint it goes on, so that malformed JSON anywhere in the line is found.

import PlugboardMemory

/// The part of a decoder that reads JSON and shorthand.
struct EnvelopeReader: ~Copyable {
    var writes: [Request] = []
    var patterns: [ByteRange] = []
    var options = RequestOptions()
    /// What `where` and `fields` say; nil if they weren't given.
    var conditions: Conditions?
    var parts: JSONPointerSet?
    private(set) var complaint: Complaint?
    private var extensionNames: [ByteRange] = []
    private var places = FieldPlaces()
    /// Whether it is reading a write within the line.
    var isInWrite = false
    /// Whether that is the write of a will, as far as the line says so before it.
    var isInWill = false
    /// The index of that write in a batch.
    var writeIndex: Int?
    /// Whether anything was read since the last reset.
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

    /// The check for an envelope that begins at the line's position.
    @inline(__always)
    mutating func begin(_ line: borrowing LineCursor) -> EnvelopeCheck {
        isUsed = true
        var check = EnvelopeCheck(
            start: line.position, extensionsStart: extensionNames.count, isWrite: isInWrite
        )
        check.isOfWill = isInWrite && isInWill
        return check
    }

    /// Begins a line in shorthand.
    mutating func beginWords() {
        isUsed = true
    }

    /// Reads an object of fields. Even if this throws, `request` has what was read. Returns false if it
    /// stops before writes; then call `readWrites`, and this again. So it never calls itself, and the
    /// compiler can inline all of it.
    mutating func read(
        _ line: inout LineCursor, _ check: inout EnvelopeCheck, into request: inout Request
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

    /// Moves past the opening brace. Returns false if the object is empty.
    @inline(__always)
    private static func skipOpening(_ line: inout LineCursor) throws(JSONFailure) -> Bool {
        guard line.current == UInt8(ascii: "{") else { throw line.syntax("an object") }
        line.position += 1
        line.skipWhitespace()
        guard line.current == UInt8(ascii: "}") else { return true }
        line.position += 1
        return false
    }

    /// Whether what follows is the end of a member. Moves past spaces.
    @inline(__always)
    static func isAtMemberEnd(_ line: inout LineCursor) -> Bool {
        line.skipWhitespace()
        return line.current == UInt8(ascii: ",") || line.current == UInt8(ascii: "}")
    }

    /// Moves past the comma before the next member. Returns false at the closing brace.
    @inline(__always)
    static func skipComma(_ line: inout LineCursor) throws(JSONFailure) -> Bool {
        guard isAtMemberEnd(&line) else { throw line.syntax("a comma or }") }
        let goesOn = line.current == UInt8(ascii: ",")
        line.position += 1
        guard goesOn else { return false }
        line.skipWhitespace()
        return true
    }

    @inline(__always)
    private mutating func decodeMember(
        _ line: inout LineCursor, _ check: inout EnvelopeCheck, into request: inout Request
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

    /// Reads a member whose name is unknown, long, or spelled with escapes.
    private mutating func decodeUnusualMember(
        _ line: inout LineCursor, _ check: inout EnvelopeCheck, into request: inout Request
    ) throws(JSONFailure) {
        let name = try line.decodeString()
        try line.skipColon()
        if let word = NameWord(name.bytes(of: line.bytes)), let field = Field(word) {
            return try decodeField(field, named: name.start, &line, &check, into: &request)
        }
        countField(&check, at: name.start)
        if !noteExtension(name, line.bytes, check), check.unknown == nil { check.unknown = name }
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
    mutating func countField(_ check: inout EnvelopeCheck, at place: Int) {
        check.count &+= 1
        if check.count == Limits.fieldsMax + 1 { complainOfFields(place) }
    }

    private mutating func complainOfFields(_ place: Int) {
        complain(Refusal(.limit, "at most \(Limits.fieldsMax) fields", at: place))
    }

    private mutating func complainOfRepeat(_ field: Field, _ place: Int) {
        complain(Refusal(.duplicateField, "\"\(field.name.text)\" stands twice", at: place))
    }

    /// Notes a name that begins with `x-`. Such members may stand in every object whose names are fixed. Returns
    /// false for any other name.
    mutating func noteExtension(_ name: ByteRange, _ line: Span<UInt8>, _ check: EnvelopeCheck) -> Bool {
        let bytes = name.bytes(of: line)
        guard Field.isExtension(bytes) else { return false }
        var isKnown = false
        for known in extensionNames[check.extensionsStart...] where known.bytes(of: line).isEqual(to: bytes) {
            isKnown = true
        }
        if isKnown {
            complain(Refusal(.duplicateField, "\"\(excerpt(bytes))\" stands twice", at: name.start))
        } else if extensionNames.count - check.extensionsStart < Limits.fieldsMax {
            extensionNames.append(name)
        }
        return true
    }

    /// Forgets the names that were noted in an object, at its end.
    @inline(__always)
    mutating func forgetExtensions(since check: EnvelopeCheck) {
        if extensionNames.count > check.extensionsStart {
            extensionNames.removeSubrange(check.extensionsStart...)
        }
    }

    /// Checks what is known only at the end of the envelope.
    @inline(__always)
    private mutating func finish(_ check: EnvelopeCheck, _ line: Span<UInt8>, _ request: Request) {
        forgetExtensions(since: check)
        if complaint != nil || check.isFaultless(request) { return }
        judge(check, line, request)
    }

    private mutating func judge(_ check: EnvelopeCheck, _ line: Span<UInt8>, _ request: Request) {
        let refusal = check.refusal(of: request, options, hasWrite: !writes.isEmpty, places, in: line)
        if let refusal {
            complain(refusal)
        } else if request.operation == .will {
            checkWill()
        }
    }

    /// Refuses `while` in the write of a will. The broker makes that write when the connection has ended,
    /// so nothing can be bound to the connection.
    private mutating func checkWill() {
        guard let write = writes.first, write.has(.whileConnected) else { return }
        let place = places[.whileConnected, ofWrite: true]
        let message = "the write of a will has no field \"while\": its connection has ended by then"
        complain(Refusal(.unknownField, message, at: place))
    }

    /// Keeps the first complaint about a line.
    mutating func complain(_ refusal: @autoclosure () -> Refusal) {
        guard complaint == nil else { return }
        complaint = Complaint(writeIndex.map { refusal().ofWrite($0) } ?? refusal())
    }
}

/// A client's text for a message, shortened if it is long.
func excerpt(_ bytes: Span<UInt8>) -> String {
    let most = 48
    guard bytes.count > most else { return String(bytes) }
    return String(bytes[..<most]) + "…"
}

/// The first complaint about a line. It is on the heap, so good lines pay only for a pointer.
final class Complaint: Sendable {
    let refusal: Refusal

    init(_ refusal: Refusal) {
        self.refusal = refusal
    }
}
