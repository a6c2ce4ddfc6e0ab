// Writes within a line: those of a batch, or the one that `write` holds. Each is an
// envelope of its own, read by the same code as the line's.

extension EnvelopeReader {
    /// Stops `read` at an array of writes, unless this is a write itself.
    mutating func noteWrites(_ scanner: inout JSONScanner, _ check: inout EnvelopeCheck) throws(JSONFailure) {
        // What holds writes is no write itself, which is the better complaint.
        if isInWrite { return try scanner.skipValue() }
        guard scanner.current == UInt8(ascii: "[") else {
            return try refuseType(of: .writes, "an array of writes", &scanner)
        }
        check.isAtWrites = true
    }

    /// Stops `read` at a single write; `null` is none.
    mutating func noteWrite(_ scanner: inout JSONScanner, _ check: inout EnvelopeCheck) throws(JSONFailure) {
        if isInWrite || scanner.current == UInt8(ascii: "n") { return try scanner.skipValue() }
        guard scanner.current == UInt8(ascii: "{") else {
            return try refuseType(of: .write, "a write, as in a batch", &scanner)
        }
        check.isAtWrites = true
    }

    /// Reads what `read` stopped at: an array of writes, or one of them.
    mutating func readWrites(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        isInWrite = true
        if scanner.current == UInt8(ascii: "{") {
            try decodeWrite(&scanner, line)
        } else {
            try readArray(&scanner, line)
        }
        isInWrite = false
    }

    private mutating func readArray(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        scanner.position += 1
        scanner.skipWhitespace()
        if scanner.current == UInt8(ascii: "]") {
            scanner.position += 1
            return
        }
        var goesOn = true
        while goesOn {
            writeIndex = (writeIndex ?? -1) + 1
            try decodeWrite(&scanner, line)
            goesOn = try Self.skipElementComma(&scanner)
        }
        writeIndex = nil
    }

    private mutating func decodeWrite(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        guard scanner.current == UInt8(ascii: "{") else {
            complain(Refusal(.wrongType, "a write is an object", at: scanner.position))
            return try scanner.skipValue()
        }
        if writes.count == Limits.batchWritesMax {
            complain(
                Refusal(.limit, "a batch holds at most \(Limits.batchWritesMax) writes", at: scanner.position)
            )
        }
        var write = Request()
        var check = begin(scanner)
        _ = try read(&scanner, line, &check, into: &write)
        if writes.count < Limits.batchWritesMax { writes.append(write) }
    }

    static func skipElementComma(_ scanner: inout JSONScanner) throws(JSONFailure) -> Bool {
        scanner.skipWhitespace()
        let byte = scanner.current
        guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") else {
            throw scanner.syntax("a comma or ]")
        }
        scanner.position += 1
        scanner.skipWhitespace()
        return byte == UInt8(ascii: ",")
    }
}
