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
        case .cause: request.cause = try decodeRevision(.cause, &scanner)
        case .limit: request.limit = try decodeLimit(&scanner)
        case .name: request.name = try decodeText(.name, &scanner, line)
        case .after: request.after = try decodeText(.after, &scanner, line)
        case .about: request.about = try decodeText(.about, &scanner, line)
        case .sub: try decodeSub(&scanner, line, &request)
        case .initial: request.initial = try decodeFlag(.initial, &scanner)
        case .old: request.old = try decodeFlag(.old, &scanner)
        case .values: request.values = try decodeFlag(.values, &scanner)
        case .keys: try decodePatterns(&scanner, line)
        case .writes: try noteWrites(&scanner, &check)
        case .operation, .id, .key, .value: try scanner.skipValue()
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
    private mutating func decodeText(
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
    private func decodeInteger(_ scanner: inout JSONScanner) throws(JSONFailure) -> Int64? {
        let start = scanner.position
        try scanner.skipValue()
        return scanner.integer(ByteRange(start, scanner.position))
    }

    private mutating func decodeRevision(
        _ field: Field,
        _ scanner: inout JSONScanner
    ) throws(JSONFailure) -> UInt64 {
        let start = scanner.position
        if let value = try decodeInteger(&scanner), value >= 0 { return UInt64(value) }
        complain(Refusal(.wrongType, "\"\(field.name)\" takes a revision: 0 to 2^53−1", at: start))
        return 0
    }

    private mutating func decodeLimit(_ scanner: inout JSONScanner) throws(JSONFailure) -> Int {
        let start = scanner.position
        guard let value = try decodeInteger(&scanner) else {
            complain(Refusal(.wrongType, "\"limit\" takes an integer", at: start))
            return Limits.pageKeysDefault
        }
        if (1...Int64(Limits.pageKeysMax)).contains(value) { return Int(value) }
        complain(Refusal(.limit, "\"limit\" is 1 to \(Limits.pageKeysMax)", at: start))
        return Limits.pageKeysDefault
    }

    private mutating func decodeFlag(
        _ field: Field,
        _ scanner: inout JSONScanner
    ) throws(JSONFailure) -> Bool {
        let byte = scanner.current
        if byte == UInt8(ascii: "t") || byte == UInt8(ascii: "f") {
            try scanner.skipValue()
            return byte == UInt8(ascii: "t")
        }
        try refuseType(of: field, "true or false", &scanner)
        return false
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

    private mutating func decodePatterns(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        let start = scanner.position
        guard scanner.current == UInt8(ascii: "[") else {
            return try refuseType(of: .keys, "an array of patterns", &scanner)
        }
        scanner.position += 1
        scanner.skipWhitespace()
        guard scanner.current != UInt8(ascii: "]") else {
            scanner.position += 1
            return complain(Refusal(.wrongType, "\"keys\" takes at least one pattern", at: start))
        }
        var goesOn = true
        while goesOn {
            try decodePattern(&scanner, line)
            goesOn = try Self.skipElementComma(&scanner)
        }
    }

    private mutating func decodePattern(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        let range = try decodeText(.keys, &scanner, line)
        if patterns.count < Limits.patternsMax {
            patterns.append(range)
        } else {
            let message = "a subscription has at most \(Limits.patternsMax) patterns"
            complain(Refusal(.limit, message, at: range.start))
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
