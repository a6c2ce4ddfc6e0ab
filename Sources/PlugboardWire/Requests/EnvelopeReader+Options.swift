// Reads fields that few lines have: numbers within a range, one of several words, lists. After a mistake,
// reading goes on, as everywhere in the reader.

import PlugboardMemory

extension EnvelopeReader {
    mutating func decodeOption(_ field: Field, _ line: inout LineCursor) throws(JSONFailure) {
        switch field {
        case .name: options.name = try decodeText(.name, &line)
        case .after: options.after = try decodeText(.after, &line)
        case .about: options.about = try decodeText(.about, &line)
        case .call: options.call = try decodeText(.call, &line)
        case .epoch: options.epoch = try decodeText(.epoch, &line)
        case .error: try decodeError(&line)
        case .initial: options.initial = try decodeFlag(.initial, &line)
        case .old: options.old = try decodeFlag(.old, &line)
        case .values: options.values = try decodeFlag(.values, &line)
        case .when: options.when = try decodeFlag(.when, &line)
        case .difference: options.differences = try decodeFlag(.difference, &line)
        case .acknowledges: options.acknowledges = try decodeFlag(.acknowledges, &line)
        case .spare: options.isSpare = try decodeFlag(.spare, &line)
        case .condition: try decodeCondition(&line)
        case .fields: try decodeFields(&line)
        case .delivery: try decodeDelivery(&line)
        case .only: options.onlyCalls = try decodeWord(of: .only, among: ["calls"], &line) != nil
        case .keys: try decodePatterns(&line)
        default: try decodeNumericOption(field, &line)
        }
    }

    private mutating func decodeNumericOption(_ field: Field, _ line: inout LineCursor)
        throws(JSONFailure)
    {
        switch field {
        case .limit: options.limit = Int(try decodeNumber(.limit, 1...UInt64(Limits.pageKeysMax), &line))
        case .every: options.every = UInt32(try decodeNumber(.every, 1...UInt64(Limits.everyMax), &line))
        case .timeout:
            options.timeout = UInt32(try decodeNumber(.timeout, 1...UInt64(Limits.timeoutMax), &line))
        case .grace: options.grace = try decodeNumber(.grace, 1...UInt64(Limits.graceMax), &line)
        case .phase: options.phase = UInt8(try decodeNumber(.phase, 0...UInt64(Limits.phaseMax), &line))
        case .count: options.count = Int(try decodeNumber(.count, 1...UInt64(Limits.stepsMax), &line))
        case .client: options.client = try decodeNumber(.client, 1...Limits.integerMax, &line)
        case .revision:
            options.revisionStart = line.position
            options.revision = try decodeRevision(.revision, &line)
        case .since: options.since = try decodeRevision(.since, &line)
        case .emits: options.emits = try decodeRevision(.emits, &line)
        default: try line.skipValue()
        }
    }

    /// An integer within a range; the lower bound if it is refused.
    mutating func decodeNumber(
        _ field: Field, _ range: ClosedRange<UInt64>, _ line: inout LineCursor
    ) throws(JSONFailure) -> UInt64 {
        let start = line.position
        guard let value = try decodeInteger(&line) else {
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

    mutating func decodeFlag(_ field: Field, _ line: inout LineCursor) throws(JSONFailure) -> Bool {
        let byte = line.current
        if byte == UInt8(ascii: "t") || byte == UInt8(ascii: "f") {
            try line.skipValue()
            return byte == UInt8(ascii: "t")
        }
        try refuseType(of: field, "true or false", &line)
        return false
    }

    private mutating func decodeCondition(_ line: inout LineCursor) throws(JSONFailure) {
        options.condition = try decodeRaw(.condition, "{", "an object of conditions", &line)
        guard options.condition.count > 0 else { return }
        let text = options.condition.bytes(of: line.bytes)
        do throws(Refusal) {
            conditions = try Conditions(where: text, at: options.condition.start)
        } catch {
            complain(error)
        }
    }

    private mutating func decodeFields(_ line: inout LineCursor) throws(JSONFailure) {
        options.fields = try decodeRaw(.fields, "[", "an array of JSON Pointers", &line)
        guard options.fields.count > 0 else { return }
        let text = options.fields.bytes(of: line.bytes)
        do throws(Refusal) {
            parts = try JSONPointerSet(array: text, at: options.fields.start)
        } catch {
            complain(error)
        }
    }

    /// An object or an array as written; empty if it is refused.
    private mutating func decodeRaw(
        _ field: Field, _ opening: Unicode.Scalar, _ wanted: StaticString, _ line: inout LineCursor
    ) throws(JSONFailure) -> ByteRange {
        guard line.current == UInt8(ascii: opening) else {
            try refuseType(of: field, wanted, &line)
            return .none
        }
        let start = line.position
        try line.skipValue()
        return ByteRange(start, line.position)
    }

    private mutating func decodeDelivery(_ line: inout LineCursor) throws(JSONFailure) {
        let words = DeliveryMode.allCases.map { $0.name.text }
        guard let index = try decodeWord(of: .delivery, among: words, &line) else { return }
        options.delivery = DeliveryMode.allCases[index]
    }

    /// Checks the word of `while`. It can only be "connected", so it isn't kept.
    mutating func decodeWhile(_ line: inout LineCursor) throws(JSONFailure) {
        _ = try decodeWord(of: .whileConnected, among: ["connected"], &line)
    }

    /// The index of a string in `words`; nil if it is refused.
    private mutating func decodeWord(
        of field: Field, among words: [String], _ line: inout LineCursor
    ) throws(JSONFailure) -> Int? {
        let start = line.position
        let wanted = words.map { "\"\($0)\"" }.joined(separator: " or ")
        guard line.current == UInt8(ascii: "\"") else {
            try line.skipValue()
            complain(Refusal(.wrongType, "\"\(field.name)\" takes \(wanted)", at: start))
            return nil
        }
        let range = try line.decodeString()
        let word = excerpt(range.bytes(of: line.bytes))
        if let index = words.firstIndex(of: word) { return index }
        let hint = Suggestion.hint(for: word, among: words)
        complain(Refusal(.wrongType, "\"\(field.name)\" takes \(wanted)", hint: hint, at: start + 1))
        return nil
    }

    private mutating func decodePatterns(_ line: inout LineCursor) throws(JSONFailure) {
        let start = line.position
        guard line.current == UInt8(ascii: "[") else {
            return try refuseType(of: .keys, "an array of patterns", &line)
        }
        line.position += 1
        line.skipWhitespace()
        guard line.current != UInt8(ascii: "]") else {
            line.position += 1
            return complain(Refusal(.wrongType, "\"keys\" takes at least one pattern", at: start))
        }
        repeat {
            let range = try decodeText(.keys, &line)
            if patterns.count < Limits.patternsMax {
                patterns.append(range)
            } else {
                let message = "a subscription has at most \(Limits.patternsMax) patterns"
                complain(Refusal(.limit, message, at: range.start))
            }
        } while try Self.skipElementComma(&line)
    }
}
