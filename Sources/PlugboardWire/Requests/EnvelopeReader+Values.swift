// What may stand in each field. A value of the wrong type is still scanned to its
// end, so that the line's other mistakes and its `id` are not lost.

extension EnvelopeReader {
    @inline(__always)
    mutating func decodeValue(
        of field: Field,
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck,
        _ request: inout Request
    ) throws(JSONFailure) {
        switch field {
        case .value:
            let start = scanner.position
            try scanner.skipValue()
            request.value = ByteRange(start, scanner.position)
        case .key:
            request.key = try decodeText(.key, &scanner, line)
        case .operation:
            try decodeOperation(&scanner, line, &check, &request)
        case .id:
            request.id = try decodeID(&scanner)
        default:
            try decodeRareValue(of: field, &scanner, line, &check, &request)
        }
    }

    private mutating func decodeRareValue(
        of field: Field,
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck,
        _ request: inout Request
    ) throws(JSONFailure) {
        switch field {
        case .ifRevision: request.ifRevision = try decodeRevision(.ifRevision, &scanner)
        case .cause: request.cause = WriteCause(try decodeRevision(.cause, &scanner))
        case .timeToLive:
            request.isBounded = true
            request.timeToLive = try decodeNumber(.timeToLive, 1...Limits.integerMax, &scanner)
        case .whileConnected:
            request.isBounded = true
            try decodeWhile(&scanner, line)
        case .durable: request.isDurable = try decodeFlag(.durable, &scanner)
        case .sub: try decodeSub(&scanner, line, &request)
        case .writes: try noteWrites(&scanner, &check)
        case .write: try noteWrite(&scanner, &check)
        default: try decodeOption(field, &scanner, line)
        }
    }

    /// Reads a string and decodes it in place; the range is of the decoded text.
    @inline(__always)
    mutating func decodeString(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) -> ByteRange {
        scanner.position += 1
        let start = scanner.position
        let hasEscape = try scanner.skipString()
        let end = scanner.position - 1
        guard hasEscape else { return ByteRange(start, end) }
        let text = UnsafeMutableRawBufferPointer(rebasing: line[start..<end])
        return ByteRange(start, start + JSONText.decodeInPlace(text))
    }

    /// Scans a value that is not what `field` takes, and complains.
    mutating func refuseType(
        of field: Field,
        _ wanted: StaticString,
        _ scanner: inout JSONScanner
    ) throws(JSONFailure) {
        let start = scanner.position
        try scanner.skipValue()
        complain(Refusal(.wrongType, "\"\(field.name)\" takes \(wanted)", at: start))
    }

    @inline(__always)
    mutating func decodeText(
        _ field: Field,
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) -> ByteRange {
        guard scanner.current == UInt8(ascii: "\"") else {
            try refuseType(of: field, "a string", &scanner)
            return .none
        }
        return try decodeString(&scanner, line)
    }

    @inline(__always)
    private mutating func decodeOperation(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ check: inout EnvelopeCheck,
        _ request: inout Request
    ) throws(JSONFailure) {
        guard scanner.current == UInt8(ascii: "\"") else {
            return try refuseType(of: .operation, "a string", &scanner)
        }
        let start = scanner.position
        scanner.position += 1
        if let word = scanner.readShortString(), let operation = Operation(NameWord(word: word)) {
            request.operation = operation
            return
        }
        // A short string that names nothing was passed over: it is read again, as a long one.
        scanner.position = start
        let range = try decodeString(&scanner, line)
        if let operation = Operation(range.bytes(of: UnsafeRawBufferPointer(line))) {
            request.operation = operation
        } else {
            check.unknownOperation = range
        }
    }

    /// An `id` is kept as it was written, so it is scanned but not decoded.
    private mutating func decodeID(_ scanner: inout JSONScanner) throws(JSONFailure) -> ByteRange {
        let start = scanner.position
        if scanner.current == UInt8(ascii: "\"") {
            scanner.position += 1
            try scanner.skipString()
            let range = ByteRange(start, scanner.position)
            if range.count - 2 <= Limits.idBytesMax { return range }
            complain(Refusal(.badID, "an id has at most \(Limits.idBytesMax) bytes", at: start + 1))
            return .none
        }
        if try decodeInteger(&scanner) != nil { return ByteRange(start, scanner.position) }
        complain(Refusal(.badID, "an id is a string or an integer within ±(2^53−1)", at: start))
        return .none
    }

    /// Moves over any value; returns it where it is an integer within ±(2^53−1).
    func decodeInteger(_ scanner: inout JSONScanner) throws(JSONFailure) -> Int64? {
        let start = scanner.position
        try scanner.skipValue()
        return scanner.integer(ByteRange(start, scanner.position))
    }

    mutating func decodeRevision(
        _ field: Field,
        _ scanner: inout JSONScanner
    ) throws(JSONFailure) -> UInt64 {
        let start = scanner.position
        if let value = try decodeInteger(&scanner), value >= 0 { return UInt64(value) }
        complain(Refusal(.wrongType, "\"\(field.name)\" takes a revision: 0 to 2^53−1", at: start))
        return 0
    }

    private mutating func decodeSub(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer,
        _ request: inout Request
    ) throws(JSONFailure) {
        let start = scanner.position
        if scanner.current == UInt8(ascii: "\"") {
            request.sub = try decodeString(&scanner, line)
            guard request.sub.count > Limits.subBytesMax else { return }
            complain(Refusal(.limit, "a sub has at most \(Limits.subBytesMax) bytes", at: start + 1))
        } else if let value = try decodeInteger(&scanner) {
            // -0 and 0 are one number and get one spelling.
            request.sub =
                value == 0
                ? ByteRange(scanner.position - 1, scanner.position) : ByteRange(start, scanner.position)
            request.subIsInteger = true
        } else {
            complain(Refusal(.wrongType, "\"sub\" takes a string or an integer within ±(2^53−1)", at: start))
        }
    }
}

extension JSONScanner {
    /// The integer that a scanned value spells, if it is one within ±(2^53−1).
    func integer(_ range: ByteRange) -> Int64? {
        var position = range.start
        let isNegative = range.count > 0 && base[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        guard range.end > position, range.end - position <= 16 else { return nil }
        var value: Int64 = 0
        while position < range.end {
            let digit = base[position] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int64(digit)
            position += 1
        }
        guard value <= Int64(Limits.integerMax) else { return nil }
        return isNegative ? -value : value
    }
}
