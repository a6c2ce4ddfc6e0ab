// The fields that few lines have: numbers within a range, one word of several, lists.

extension EnvelopeReader {
    mutating func decodeOption(
        _ field: Field,
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        switch field {
        case .name: options.name = try decodeText(.name, &scanner, line)
        case .after: options.after = try decodeText(.after, &scanner, line)
        case .about: options.about = try decodeText(.about, &scanner, line)
        case .call: options.call = try decodeText(.call, &scanner, line)
        case .epoch: options.epoch = try decodeText(.epoch, &scanner, line)
        case .error: try decodeError(&scanner, line)
        case .initial: options.initial = try decodeFlag(.initial, &scanner)
        case .old: options.old = try decodeFlag(.old, &scanner)
        case .values: options.values = try decodeFlag(.values, &scanner)
        case .difference: options.differences = try decodeFlag(.difference, &scanner)
        case .acknowledges: options.acknowledges = try decodeFlag(.acknowledges, &scanner)
        case .condition: try decodeCondition(&scanner, line)
        case .fields: try decodeFields(&scanner, line)
        case .delivery: try decodeDelivery(&scanner, line)
        case .keys: try decodePatterns(&scanner, line)
        default: try decodeNumericOption(field, &scanner)
        }
    }

    private mutating func decodeNumericOption(_ field: Field, _ scanner: inout JSONScanner)
        throws(JSONFailure)
    {
        switch field {
        case .limit: options.limit = Int(try decodeNumber(.limit, 1...UInt64(Limits.pageKeysMax), &scanner))
        case .every: options.every = UInt32(try decodeNumber(.every, 1...UInt64(Limits.everyMax), &scanner))
        case .timeout:
            options.timeout = UInt32(try decodeNumber(.timeout, 1...UInt64(Limits.timeoutMax), &scanner))
        case .phase: options.phase = UInt8(try decodeNumber(.phase, 0...UInt64(Limits.phaseMax), &scanner))
        case .count: options.count = Int(try decodeNumber(.count, 1...UInt64(Limits.stepsMax), &scanner))
        case .client: options.client = try decodeNumber(.client, 1...Limits.integerMax, &scanner)
        case .revision: options.revision = try decodeRevision(.revision, &scanner)
        case .since: options.since = try decodeRevision(.since, &scanner)
        default: try scanner.skipValue()
        }
    }

    /// An integer within a range; the lowest of the range where it is refused.
    mutating func decodeNumber(
        _ field: Field,
        _ range: ClosedRange<UInt64>,
        _ scanner: inout JSONScanner
    ) throws(JSONFailure) -> UInt64 {
        let start = scanner.position
        guard let value = try decodeInteger(&scanner) else {
            let message =
                "\"\(field.name)\" takes an integer from \(range.lowerBound) to \(range.upperBound)"
            complain(Refusal(.wrongType, message, at: start))
            return range.lowerBound
        }
        if value >= 0, range.contains(UInt64(value)) { return UInt64(value) }
        let message = "\"\(field.name)\" is \(range.lowerBound) to \(range.upperBound)"
        complain(Refusal(.limit, message, at: start))
        return range.lowerBound
    }

    mutating func decodeFlag(_ field: Field, _ scanner: inout JSONScanner) throws(JSONFailure) -> Bool {
        let byte = scanner.current
        if byte == UInt8(ascii: "t") || byte == UInt8(ascii: "f") {
            try scanner.skipValue()
            return byte == UInt8(ascii: "t")
        }
        try refuseType(of: field, "true or false", &scanner)
        return false
    }

    private mutating func decodeCondition(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        options.condition = try decodeRaw(.condition, "{", "an object of conditions", &scanner)
        guard options.condition.count > 0 else { return }
        let text = options.condition.bytes(of: UnsafeRawBufferPointer(line))
        do throws(Refusal) {
            conditions = try Conditions(where: text, at: options.condition.start)
        } catch {
            complain(error)
        }
    }

    private mutating func decodeFields(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        options.fields = try decodeRaw(.fields, "[", "an array of JSON Pointers", &scanner)
        guard options.fields.count > 0 else { return }
        let text = options.fields.bytes(of: UnsafeRawBufferPointer(line))
        do throws(Refusal) {
            parts = try JSONPointerSet(array: text, at: options.fields.start)
        } catch {
            complain(error)
        }
    }

    /// An object or an array as it was written.
    private mutating func decodeRaw(
        _ field: Field,
        _ opening: Unicode.Scalar,
        _ wanted: StaticString,
        _ scanner: inout JSONScanner
    ) throws(JSONFailure) -> ByteRange {
        guard scanner.current == UInt8(ascii: opening) else {
            try refuseType(of: field, wanted, &scanner)
            return .none
        }
        let start = scanner.position
        try scanner.skipValue()
        return ByteRange(start, scanner.position)
    }

    private mutating func decodeDelivery(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        let words = Delivery.allCases.map { $0.name.text }
        guard let index = try decodeWord(of: .delivery, among: words, &scanner, line) else { return }
        options.delivery = Delivery.allCases[index]
    }

    /// `connected` is the one thing that a value can depend on: that `while` was given says it.
    mutating func decodeWhile(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        _ = try decodeWord(of: .whileConnected, among: ["connected"], &scanner, line)
    }

    /// Which of some words a string is.
    private mutating func decodeWord(
        of field: Field,
        among words: [String],
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) -> Int? {
        let start = scanner.position
        let wanted = words.map { "\"\($0)\"" }.joined(separator: " or ")
        guard scanner.current == UInt8(ascii: "\"") else {
            try scanner.skipValue()
            complain(Refusal(.wrongType, "\"\(field.name)\" takes \(wanted)", at: start))
            return nil
        }
        let range = try decodeString(&scanner, line)
        let word = excerpt(range.bytes(of: UnsafeRawBufferPointer(line)))
        if let index = words.firstIndex(of: word) { return index }
        let hint = Suggestion.hint(for: word, among: words)
        complain(Refusal(.wrongType, "\"\(field.name)\" takes \(wanted)", hint: hint, at: start + 1))
        return nil
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
        repeat {
            let range = try decodeText(.keys, &scanner, line)
            if patterns.count < Limits.patternsMax {
                patterns.append(range)
            } else {
                let message = "a subscription has at most \(Limits.patternsMax) patterns"
                complain(Refusal(.limit, message, at: range.start))
            }
        } while try Self.skipElementComma(&scanner)
    }
}
