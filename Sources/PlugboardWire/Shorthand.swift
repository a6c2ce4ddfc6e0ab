// Words instead of JSON, for people at a terminal: `publish cart.total 42.50`. The
// words fill the same request as JSON would, so nothing behind it knows of them.

extension EnvelopeReader {
    mutating func readShorthand(_ line: UnsafeRawBufferPointer, into request: inout Request) throws(Refusal) {
        if let offset = UTF8Sequence.firstMalformed(line) {
            throw Refusal(JSONFailure(.encoding, at: offset, "text"))
        }
        var words = Words(line)
        guard let verb = words.next() else { return }
        guard let operation = Operation(verb.bytes(of: line)) else {
            throw Self.unknownWord(verb, line)
        }
        request.operation = operation
        request.fields = FieldSet().with(.operation)
        switch operation {
        case .publish, .emit, .patch: try decodeKeyAndValue(&words, line, &request)
        case .subscribe: try decodeWordPatterns(&words, &request)
        case .batch: throw Refusal(.missingField, "a batch has no shorthand", hint: "send it as JSON")
        default: try decodeArgument(&words, line, &request)
        }
    }

    /// The one argument that the other operations take, or none.
    private mutating func decodeArgument(
        _ words: inout Words,
        _ line: UnsafeRawBufferPointer,
        _ request: inout Request
    ) throws(Refusal) {
        let word = words.next()
        if let extra = words.next() {
            let message = "\"\(excerpt(extra.bytes(of: line)))\" is one word too many"
            throw Refusal(.unknownField, message, hint: usage(request.operation), at: extra.start)
        }
        guard let word else {
            if request.operation.required.isEmpty { return }
            throw missing(request.operation)
        }
        switch request.operation {
        case .hello:
            (request.name, request.fields) = (word, request.fields.with(.name))
            if let refusal = ClientName.refusal(word.bytes(of: line), at: word.start) { throw refusal }
        case .help: (request.about, request.fields) = (word, request.fields.with(.about))
        case .unsubscribe: try decodeWordSub(word, line, &request)
        case .sync:
            throw Refusal(.unknownField, "sync takes no word", hint: usage(.sync), at: word.start)
        default: (request.key, request.fields) = (word, request.fields.with(.key))
        }
    }

    private mutating func decodeKeyAndValue(
        _ words: inout Words,
        _ line: UnsafeRawBufferPointer,
        _ request: inout Request
    ) throws(Refusal) {
        guard let key = words.next(), let value = words.rest() else { throw missing(request.operation) }
        do throws(JSONFailure) {
            try JSONScanner.validate(value.bytes(of: line))
        } catch {
            var refusal = Refusal(error)
            refusal.offset = value.start + error.offset
            if error.kind == .syntax { refusal.hint = quotedLine(request.operation, key, value, line) }
            throw refusal
        }
        request.key = key
        request.value = value
        request.fields = request.fields.with(.key).with(.value)
    }

    private mutating func decodeWordPatterns(_ words: inout Words, _ request: inout Request) throws(Refusal) {
        while let pattern = words.next() {
            guard patterns.count < Limits.patternsMax else {
                throw Refusal(
                    .limit,
                    "a subscription has at most \(Limits.patternsMax) patterns",
                    at: pattern.start
                )
            }
            patterns.append(pattern)
        }
        guard !patterns.isEmpty else { throw missing(.subscribe) }
        request.fields = request.fields.with(.keys)
    }

    /// A sub as JSON would spell it, but without escapes; a bare word is a string without its quotes.
    private func decodeWordSub(
        _ word: ByteRange,
        _ line: UnsafeRawBufferPointer,
        _ request: inout Request
    ) throws(Refusal) {
        request.fields = request.fields.with(.sub)
        request.sub = word
        let bytes = word.bytes(of: line)
        if let value = JSONScanner(line).integer(word), (try? JSONScanner.validate(bytes)) != nil {
            request.subIsInteger = true
            // -0 and 0 are one number and get one spelling.
            if value == 0 { request.sub = ByteRange(word.end - 1, word.end) }
        } else if bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") {
            request.sub = ByteRange(word.start + 1, word.end - 1)
        }
        guard request.sub.count <= Limits.subBytesMax else {
            throw Refusal(.limit, "a sub has at most \(Limits.subBytesMax) bytes", at: word.start)
        }
    }

    private static func unknownWord(_ verb: ByteRange, _ line: UnsafeRawBufferPointer) -> Refusal {
        var refusal = EnvelopeCheck.unknownOperation(verb, line)
        if line[verb.start] == UInt8(ascii: "["), refusal.hint == "try help" {
            refusal.hint = "a line is one JSON object, or words: try help"
        }
        return refusal
    }

    private func missing(_ operation: Operation) -> Refusal {
        Refusal(.missingField, "\(operation.name) needs more words", hint: usage(operation))
    }

    private func usage(_ operation: Operation) -> String {
        "usage: \(OperationHelp.of(operation).shorthand)"
    }

    /// The same line with its value in quotes, which is nearly always what was meant.
    private func quotedLine(
        _ operation: Operation,
        _ key: ByteRange,
        _ value: ByteRange,
        _ line: UnsafeRawBufferPointer
    ) -> String? {
        guard value.count <= Limits.keyBytesMax, UTF8Sequence.firstMalformed(line) == nil else { return nil }
        var quoted = ByteBuffer()
        JSONText.append(value.bytes(of: line), to: &quoted)
        let key = String(decoding: key.bytes(of: line), as: UTF8.self)
        return "\(operation.name) \(key) \(String(decoding: quoted.bytes, as: UTF8.self))"
    }
}

/// The words of a line, parted by spaces and tabs.
private struct Words {
    private let line: UnsafeRawBufferPointer
    private var position = 0

    init(_ line: UnsafeRawBufferPointer) {
        self.line = line
    }

    /// The next word.
    mutating func next() -> ByteRange? {
        skipSpace()
        let start = position
        while position < line.count, !isSpace(line[position]) { position += 1 }
        return position > start ? ByteRange(start, position) : nil
    }

    /// All that is left, without the white space round it.
    mutating func rest() -> ByteRange? {
        skipSpace()
        var end = line.count
        while end > position, isSpace(line[end - 1]) { end -= 1 }
        return end > position ? ByteRange(position, end) : nil
    }

    private mutating func skipSpace() {
        while position < line.count, isSpace(line[position]) { position += 1 }
    }

    private func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
