// The shorthand of operations with two words of different kinds: `call` and `return`, `step` and `ack`.
// Words fill the same request as JSON does.

import PlugboardMemory

extension EnvelopeReader {
    /// `call KEY`, `call KEY JSON` or `return CALL JSON`.
    mutating func decodeCallWords(
        _ words: inout Words, _ line: Span<UInt8>, _ request: inout Request
    ) throws(Refusal) {
        guard let word = words.next() else { throw missing(request.operation) }
        if request.operation == .call {
            (request.key, request.fields) = (word, request.fields.with(.key))
        } else {
            (options.call, request.fields) = (unquoted(word, line), request.fields.with(.call))
        }
        guard let value = words.rest() else {
            if request.operation == .call { return }
            throw missing(request.operation)
        }
        try checkValue(value, line)
        (request.value, request.fields) = (value, request.fields.with(.value))
    }

    /// `step SUB`, `step SUB COUNT` or `ack SUB REVISION`.
    mutating func decodeSubAndNumber(
        _ words: inout Words, _ line: Span<UInt8>, _ request: inout Request
    ) throws(Refusal) {
        guard let sub = words.next() else { throw missing(request.operation) }
        try decodeWordSub(sub, line, &request)
        guard let word = words.next() else {
            if request.operation == .step { return }
            throw missing(request.operation)
        }
        try refuseMore(&words, line, request.operation)
        if request.operation == .step {
            options.count = Int(try number(word, 1...UInt64(Limits.stepsMax), line, request.operation))
            request.fields = request.fields.with(.count)
        } else {
            options.revisionStart = word.start
            options.revision = try number(word, 0...Limits.integerMax, line, request.operation)
            request.fields = request.fields.with(.revision)
        }
    }

    func number(
        _ word: ByteRange, _ range: ClosedRange<UInt64>, _ line: Span<UInt8>, _ operation: Operation
    ) throws(Refusal) -> UInt64 {
        let isNumber = (try? JSONScanner.validate(word.bytes(of: line))) != nil
        guard isNumber, let value = JSONScanner(line).integer(word) else {
            let message = "\"\(excerpt(word.bytes(of: line)))\" is no integer"
            throw Refusal(.wrongType, message, hint: usage(operation), at: word.start)
        }
        if value >= 0, range.contains(UInt64(value)) { return UInt64(value) }
        let message = "the number is \(range.lowerBound) to \(range.upperBound)"
        throw Refusal(.limit, message, hint: usage(operation), at: word.start)
    }
}
