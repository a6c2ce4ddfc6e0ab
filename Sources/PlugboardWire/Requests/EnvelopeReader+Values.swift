// Reads the value of each field. A value of the wrong type is scanned to its end. So a later `id` is
// known for the refusal, and malformed JSON later in the line is found.

import PlugboardMemory

extension EnvelopeReader {
    @inline(__always)
    mutating func decodeValue(
        of field: Field, _ line: inout LineCursor, _ check: inout EnvelopeCheck, _ request: inout Request
    ) throws(JSONFailure) {
        switch field {
        case .value:
            let start = line.position
            try line.skipValue()
            request.value = ByteRange(start, line.position)
            if let refusal = Refusal(ofValue: request.value) { complain(refusal) }
        case .key:
            request.key = try decodeText(.key, &line)
        case .operation:
            try decodeOperation(&line, &check, &request)
        case .id:
            let id = try decodeID(&line)
            // `1x3` or `12` at the end of a line may have been meant as another `id`, so nobody is answered by it.
            if Self.isAtMemberEnd(&line) { request.id = id }
        default:
            try decodeRareValue(of: field, &line, &check, &request)
        }
    }

    private mutating func decodeRareValue(
        of field: Field, _ line: inout LineCursor, _ check: inout EnvelopeCheck, _ request: inout Request
    ) throws(JSONFailure) {
        switch field {
        case .ifRevision: request.ifRevision = try decodeRevision(.ifRevision, &line)
        case .cause: request.cause = WriteCause(try decodeRevision(.cause, &line))
        case .origin: try decodeOrigin(&line, &request)
        case .timeToLive:
            request.isBounded = true
            request.timeToLive = try decodeNumber(.timeToLive, 1...Limits.integerMax, &line)
        case .whileConnected:
            request.isBounded = true
            try decodeWhile(&line)
        case .durable: request.isDurable = try decodeFlag(.durable, &line)
        case .sub: try decodeSub(&line, &request)
        case .field: try decodeFieldPointer(&line, &request)
        case .writes: try noteWrites(&line, &check)
        case .write: try noteWrite(&line, &check)
        default: try decodeOption(field, &line)
        }
    }

    /// Moves past a value that `field` doesn't take, and complains.
    mutating func refuseType(
        of field: Field, _ wanted: StaticString, _ line: inout LineCursor
    ) throws(JSONFailure) {
        let start = line.position
        try line.skipValue()
        complain(Refusal(.wrongType, "\"\(field.name)\" takes \(wanted)", at: start))
    }

    @inline(__always)
    mutating func decodeText(_ field: Field, _ line: inout LineCursor) throws(JSONFailure) -> ByteRange {
        guard line.current == UInt8(ascii: "\"") else {
            try refuseType(of: field, "a string", &line)
            return .none
        }
        return try line.decodeString()
    }

    @inline(__always)
    private mutating func decodeOperation(
        _ line: inout LineCursor, _ check: inout EnvelopeCheck, _ request: inout Request
    ) throws(JSONFailure) {
        guard line.current == UInt8(ascii: "\"") else {
            return try refuseType(of: .operation, "a string", &line)
        }
        let start = line.position
        line.position += 1
        if let word = line.readShortString(), let operation = Operation(NameWord(word: word)) {
            request.operation = operation
            return
        }
        // The short string is no operation. Read it again in the slower way.
        line.position = start
        let range = try line.decodeString()
        if let operation = Operation(range.bytes(of: line.bytes)) {
            request.operation = operation
        } else {
            check.unknownOperation = range
        }
    }

    /// An `id` is kept as written, so it isn't decoded.
    private mutating func decodeID(_ line: inout LineCursor) throws(JSONFailure) -> ByteRange {
        let start = line.position
        if line.current == UInt8(ascii: "\"") {
            line.position += 1
            try line.skipString()
            let range = ByteRange(start, line.position)
            if range.count - 2 <= Limits.idBytesMax { return range }
            complain(Refusal(.badID, "an id has at most \(Limits.idBytesMax) bytes", at: start + 1))
            return .none
        }
        if try decodeInteger(&line) != nil { return ByteRange(start, line.position) }
        complain(Refusal(.badID, "an id is a string or an integer within ±(2^53−1)", at: start))
        return .none
    }

    /// Moves past any value. Returns it if it is an integer within ±(2^53−1).
    func decodeInteger(_ line: inout LineCursor) throws(JSONFailure) -> Int64? {
        let start = line.position
        try line.skipValue()
        return line.integer(ByteRange(start, line.position))
    }

    mutating func decodeRevision(_ field: Field, _ line: inout LineCursor) throws(JSONFailure) -> UInt64 {
        let start = line.position
        if let value = try decodeInteger(&line), value >= 0 { return UInt64(value) }
        complain(Refusal(.wrongType, "\"\(field.name)\" takes a revision: 0 to 2^53−1", at: start))
        return 0
    }

    /// An origin is kept as written, so it isn't decoded.
    private mutating func decodeOrigin(
        _ line: inout LineCursor, _ request: inout Request
    ) throws(JSONFailure) {
        guard line.current == UInt8(ascii: "\"") else {
            return try refuseType(of: .origin, "a string", &line)
        }
        let start = line.position
        request.originStart = start
        line.position += 1
        try line.skipString()
        guard line.position - start - 2 > Limits.originBytesMax else { return }
        complain(Refusal(.limit, "an origin has at most \(Limits.originBytesMax) bytes", at: start + 1))
    }

    /// A pointer is kept as spelled, like those of `fields`.
    private mutating func decodeFieldPointer(
        _ line: inout LineCursor, _ request: inout Request
    ) throws(JSONFailure) {
        guard line.current == UInt8(ascii: "\"") else {
            return try refuseType(of: .field, "a JSON Pointer", &line)
        }
        line.position += 1
        let start = line.position
        try line.skipString()
        request.field = ByteRange(start, line.position - 1)
        let spelling = request.field.bytes(of: line.bytes)
        if let refusal = NumberAddition.refusal(ofField: spelling, at: start) { complain(refusal) }
    }

    private mutating func decodeSub(_ line: inout LineCursor, _ request: inout Request) throws(JSONFailure) {
        let start = line.position
        if line.current == UInt8(ascii: "\"") {
            request.sub = try line.decodeString()
            guard request.sub.count > Limits.subBytesMax else { return }
            complain(Refusal(.limit, "a sub has at most \(Limits.subBytesMax) bytes", at: start + 1))
        } else if let value = try decodeInteger(&line) {
            // -0 and 0 are the same number, so they get the same spelling.
            request.sub =
                value == 0
                ? ByteRange(line.position - 1, line.position) : ByteRange(start, line.position)
            request.subIsInteger = true
        } else {
            complain(Refusal(.wrongType, "\"sub\" takes a string or an integer within ±(2^53−1)", at: start))
        }
    }
}

extension Refusal {
    /// The refusal of a value that is too long; nil if it isn't.
    @inline(__always)
    init?(ofValue value: ByteRange) {
        guard value.count > Limits.valueBytesMax else { return nil }
        self.init(valueOf: value.count, at: value.start)
    }

    /// The refusal of a value of `count` bytes.
    public init(valueOf count: Int, at place: Int) {
        let message = "a value has at most \(Limits.valueBytesMax) bytes, and this one would have \(count)"
        self.init(.limit, message, at: place)
    }
}

extension JSONScanner {
    /// The integer that a scanned value spells, within ±(2^53−1); nil if it is anything else.
    func integer(_ range: ByteRange) -> Int64? {
        var position = range.start
        let isNegative = range.count > 0 && bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        guard range.end > position, range.end - position <= 16 else { return nil }
        var value: Int64 = 0
        while position < range.end {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int64(digit)
            position += 1
        }
        guard value <= Int64(Limits.integerMax) else { return nil }
        return isNegative ? -value : value
    }
}
