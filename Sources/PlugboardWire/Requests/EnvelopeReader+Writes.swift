// Reads writes within a line: those of a batch, or the one in `write`. Each is an envelope of its own,
// and the code that reads the line's envelope reads it, too. Writes don't nest.

import PlugboardMemory

extension EnvelopeReader {
    /// Stops `read` before an array of writes, except within a write.
    mutating func noteWrites(_ line: inout LineCursor, _ check: inout EnvelopeCheck) throws(JSONFailure) {
        // A better complaint is that `batch` can't be a write. The check makes it.
        if isInWrite { return try line.skipValue() }
        guard line.current == UInt8(ascii: "[") else {
            return try refuseType(of: .writes, "an array of writes", &line)
        }
        check.isAtWrites = true
    }

    /// Stops `read` before a single write. `null` means that there is none.
    mutating func noteWrite(_ line: inout LineCursor, _ check: inout EnvelopeCheck) throws(JSONFailure) {
        if isInWrite || line.current == UInt8(ascii: "n") { return try line.skipValue() }
        guard line.current == UInt8(ascii: "{") else {
            return try refuseType(of: .write, "a write, as in a batch", &line)
        }
        check.isAtWrites = true
    }

    /// Reads the array of writes or the single write at which `read` stopped.
    mutating func readWrites(_ line: inout LineCursor, of operation: Operation) throws(JSONFailure) {
        (isInWrite, isInWill) = (true, operation == .will)
        if line.current == UInt8(ascii: "{") {
            try decodeWrite(&line)
        } else {
            try readArray(&line)
        }
        isInWrite = false
    }

    private mutating func readArray(_ line: inout LineCursor) throws(JSONFailure) {
        line.position += 1
        line.skipWhitespace()
        if line.current == UInt8(ascii: "]") {
            line.position += 1
            return
        }
        var goesOn = true
        while goesOn {
            writeIndex = (writeIndex ?? -1) + 1
            try decodeWrite(&line)
            goesOn = try Self.skipElementComma(&line)
        }
        writeIndex = nil
    }

    private mutating func decodeWrite(_ line: inout LineCursor) throws(JSONFailure) {
        guard line.current == UInt8(ascii: "{") else {
            complain(Refusal(.wrongType, "a write is an object", at: line.position))
            return try line.skipValue()
        }
        if writes.count == Limits.batchWritesMax {
            complain(
                Refusal(.limit, "a batch holds at most \(Limits.batchWritesMax) writes", at: line.position)
            )
        }
        var write = Request()
        var check = begin(line)
        _ = try read(&line, &check, into: &write)
        if writes.count < Limits.batchWritesMax { writes.append(write) }
    }

    static func skipElementComma(_ line: inout LineCursor) throws(JSONFailure) -> Bool {
        line.skipWhitespace()
        let byte = line.current
        guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") else {
            throw line.syntax("a comma or ]")
        }
        line.position += 1
        line.skipWhitespace()
        return byte == UInt8(ascii: ",")
    }
}
