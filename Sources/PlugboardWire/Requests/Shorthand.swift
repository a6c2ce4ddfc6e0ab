// Reads shorthand, which people type at a terminal: `publish cart.total 42.50` (SPEC.md, section 8).
// Words fill the same request as JSON does, so later code doesn't know the difference.

import PlugboardMemory

extension EnvelopeReader {
    mutating func readShorthand(_ line: Span<UInt8>, into request: inout Request) throws(Refusal) {
        if let offset = UTF8Sequence.firstMalformed(line) {
            throw Refusal(JSONFailure(.encoding, at: offset, "text"))
        }
        var words = Words(line)
        guard let verb = words.next() else { return }
        beginWords()
        try readWords(verb, &words, line, into: &request)
    }

    private mutating func readWords(
        _ verb: ByteRange, _ words: inout Words, _ line: Span<UInt8>, into request: inout Request
    ) throws(Refusal) {
        guard let operation = Operation(verb.bytes(of: line)) else {
            throw Self.unknownWord(verb, line)
        }
        request.operation = operation
        request.fields = FieldSet().with(.operation)
        switch operation {
        case .publish, .emit, .patch, .add: try decodeKeyAndValue(&words, line, &request)
        case .subscribe, .trace: try decodeWordPatterns(&words, &request)
        case .batch:
            let hint = "send it as JSON; \"help batch\" shows how"
            throw Refusal(.missingField, "a batch has no shorthand", hint: hint)
        case .call, .answer: try decodeCallWords(&words, line, &request)
        case .step, .acknowledge: try decodeSubAndNumber(&words, line, &request)
        case .will, .explain: try decodeWordWrite(&words, line, &request)
        default: try decodeArgument(&words, line, &request)
        }
    }

    /// Reads the argument of an operation that takes at most one.
    private mutating func decodeArgument(
        _ words: inout Words, _ line: Span<UInt8>, _ request: inout Request
    ) throws(Refusal) {
        let word = words.next()
        try refuseMore(&words, line, request.operation)
        guard let word else {
            if request.operation.required.isEmpty { return }
            throw missing(request.operation)
        }
        switch request.operation {
        case .hello:
            (options.name, request.fields) = (word, request.fields.with(.name))
            if let refusal = ClientName.refusal(word.bytes(of: line), at: word.start) { throw refusal }
        case .help: (options.about, request.fields) = (word, request.fields.with(.about))
        case .unsubscribe, .pause, .resume: try decodeWordSub(word, line, &request)
        case .disconnect:
            options.client = try number(word, 1...Limits.integerMax, line, .disconnect)
            request.fields = request.fields.with(.client)
        case .sync, .goodbye:
            let operation = request.operation
            let message = "\(operation.name) takes no word"
            throw Refusal(.unknownField, message, hint: usage(operation), at: word.start)
        default: (request.key, request.fields) = (word, request.fields.with(.key))
        }
    }

    func refuseMore(_ words: inout Words, _ line: Span<UInt8>, _ operation: Operation)
        throws(Refusal)
    {
        guard let extra = words.next() else { return }
        let message = "\"\(excerpt(extra.bytes(of: line)))\" is one word too many"
        throw Refusal(.unknownField, message, hint: usage(operation), at: extra.start)
    }

    /// Reads the write of `will` or `explain`, in the form that it has by itself.
    private mutating func decodeWordWrite(
        _ words: inout Words, _ line: Span<UInt8>, _ request: inout Request
    ) throws(Refusal) {
        guard let verb = words.next() else {
            if request.operation == .will { return }
            throw missing(request.operation)
        }
        guard let operation = Operation(verb.bytes(of: line)), operation.isWrite else {
            let message = "\(request.operation.name) takes a write"
            throw Refusal(.wrongType, message, hint: usage(request.operation), at: verb.start)
        }
        var write = Request()
        write.operation = operation
        write.fields = FieldSet().with(.operation)
        if operation == .delete {
            try decodeArgument(&words, line, &write)
        } else {
            try decodeKeyAndValue(&words, line, &write)
        }
        writes.append(write)
        request.fields = request.fields.with(.write)
    }

    private func decodeKeyAndValue(
        _ words: inout Words, _ line: Span<UInt8>, _ request: inout Request
    ) throws(Refusal) {
        guard let key = words.next(), let value = words.rest() else { throw missing(request.operation) }
        try checkValue(value, line, isNumber: request.operation == .add)
        if request.operation == .add,
            let refusal = NumberAddition.refusal(of: value.bytes(of: line), at: value.start)
        {
            throw refusal
        }
        request.key = key
        request.value = value
        request.fields = request.fields.with(.key).with(.value)
    }

    /// Throws unless `value` is JSON that isn't too long.
    func checkValue(_ value: ByteRange, _ line: Span<UInt8>, isNumber: Bool = false) throws(Refusal) {
        do throws(JSONFailure) {
            try JSONScanner.validate(value.bytes(of: line))
        } catch {
            var refusal = Refusal(error)
            refusal.offset = value.start + error.offset
            if error.kind == .syntax {
                let hint = ValueHint.of(value.bytes(of: line))
                refusal.hint = isNumber ? NumberAddition.hint : hint ?? quotedLine(value, line)
            }
            throw refusal
        }
        if let refusal = Refusal(ofValue: value) { throw refusal }
    }

    private mutating func decodeWordPatterns(_ words: inout Words, _ request: inout Request) throws(Refusal) {
        while let pattern = words.next() {
            guard patterns.count < Limits.patternsMax else {
                throw Refusal(
                    .limit, "a subscription has at most \(Limits.patternsMax) patterns", at: pattern.start
                )
            }
            patterns.append(pattern)
        }
        guard !patterns.isEmpty else { throw missing(request.operation) }
        request.fields = request.fields.with(.keys)
    }

    /// Reads a sub: an integer, a string in quotes without escapes, or a plain word, which is a string.
    func decodeWordSub(_ word: ByteRange, _ line: Span<UInt8>, _ request: inout Request) throws(Refusal) {
        request.fields = request.fields.with(.sub)
        request.sub = word
        if let value = JSONScanner(line).integer(word),
            (try? JSONScanner.validate(word.bytes(of: line))) != nil
        {
            request.subIsInteger = true
            // -0 and 0 are the same number, so they get the same spelling.
            if value == 0 { request.sub = ByteRange(word.end - 1, word.end) }
        } else {
            request.sub = unquoted(word, line)
        }
        guard request.sub.count <= Limits.subBytesMax else {
            throw Refusal(.limit, "a sub has at most \(Limits.subBytesMax) bytes", at: word.start)
        }
    }

    /// A word without the quotes around it.
    func unquoted(_ word: ByteRange, _ line: Span<UInt8>) -> ByteRange {
        let bytes = word.bytes(of: line)
        let isQuoted =
            bytes.count >= 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
        return isQuoted ? ByteRange(word.start + 1, word.end - 1) : word
    }

    private static func unknownWord(_ verb: ByteRange, _ line: Span<UInt8>) -> Refusal {
        var refusal = EnvelopeCheck.unknownOperation(verb, line)
        if line[verb.start] == UInt8(ascii: "["), refusal.hint == "try help" {
            refusal.hint = "a line is one JSON object, or words: try help"
        }
        return refusal
    }

    func missing(_ operation: Operation) -> Refusal {
        Refusal(.missingField, "\(operation.name) needs more words", hint: usage(operation))
    }

    func usage(_ operation: Operation) -> String {
        "usage: \(OperationHelp.of(operation).shorthand)"
    }

    /// The line with its value in quotes, which is nearly always what was meant; nil if the line is long.
    private func quotedLine(_ value: ByteRange, _ line: Span<UInt8>) -> String? {
        guard value.count <= Limits.keyBytesMax, value.start <= 2 * Limits.keyBytesMax else { return nil }
        var words = Words(line[..<value.start])
        var quoted = ByteBuffer()
        while let word = words.next() {
            quoted.append(word.bytes(of: line))
            quoted.append(" ")
        }
        JSONText.append(value.bytes(of: line), to: &quoted)
        return String(quoted.bytes)
    }
}
