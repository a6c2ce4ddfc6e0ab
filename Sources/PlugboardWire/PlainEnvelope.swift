// The path of nearly every line: the commonest fields, spelled without escapes, nothing
// between them but perhaps the space after a colon or a comma that many writers put
// there. It decides nothing: whatever is unusual or wrong in any way is left to
// `EnvelopeReader`, which reads the line again from its beginning and says what it is.
// A test holds the two against each other.

extension Request {
    /// Reads a plain line into a fresh request. Where it returns false, the line is not
    /// plain and the request is nothing that could be used.
    @inline(__always)
    mutating func readPlain(_ line: UnsafeRawBufferPointer) -> Bool {
        // Both in registers, and written back once.
        var scanner = JSONScanner(line)
        var fields = FieldSet()
        guard scanner.take("{") else { return false }
        repeat {
            guard let field = readPlainMember(&scanner), !fields.has(field) else { return false }
            fields = fields.with(field)
        } while scanner.takeWithSpace(",")
        self.fields = fields
        return scanner.take("}") && scanner.isAtEnd && isComplete
    }

    @inline(__always)
    private mutating func readPlainMember(_ scanner: inout JSONScanner) -> Field? {
        // The longest of the names, `"value":`, fills a word.
        let word = scanner.word(at: scanner.position)
        if scanner.takeName(#""op":"#, word) {
            guard let operation = scanner.readPlainOperation() else { return nil }
            self.operation = operation
            return .operation
        }
        let field: Field
        let start: Int
        if scanner.takeName(#""key":"#, word) {
            start = scanner.position
            guard scanner.skipPlainString() else { return nil }
            key = ByteRange(start + 1, scanner.position - 1)
            field = .key
        } else if scanner.takeName(#""value":"#, word) {
            start = scanner.position
            guard scanner.skipPlainValue() else { return nil }
            value = ByteRange(start, scanner.position)
            field = .value
        } else if scanner.takeName(#""id":"#, word) {
            start = scanner.position
            guard scanner.skipPlainID() else { return nil }
            id = ByteRange(start, scanner.position)
            field = .id
        } else {
            return nil
        }
        return field
    }

    @inline(__always)
    private var isComplete: Bool {
        fields.with(.id) == operation.plainFields.with(.id)
    }
}

extension JSONScanner {
    /// Moves over one character if it is the next.
    @inline(__always)
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard current == UInt8(truncatingIfNeeded: character.value) else { return false }
        position &+= 1
        return true
    }

    /// Moves over one character, and the space after it, if it is the next.
    @inline(__always)
    fileprivate mutating func takeWithSpace(_ character: Unicode.Scalar) -> Bool {
        guard take(character) else { return false }
        skipSpace()
        return true
    }

    @inline(__always)
    private mutating func skipSpace() {
        if current == UInt8(ascii: " ") { position &+= 1 }
    }

    /// Moves over a name with its quotes and its colon, and the space after them, if it is
    /// what `word`, the next eight bytes, begins with.
    @inline(__always)
    fileprivate mutating func takeName(_ name: StaticString, _ word: UInt64) -> Bool {
        let count = name.utf8CodeUnitCount
        let mask = UInt64.max &>> UInt64((8 &- count) &* 8)
        guard word & mask == NameWord(name).word else { return false }
        position &+= count
        skipSpace()
        return true
    }

    @inline(__always)
    fileprivate mutating func readPlainOperation() -> Operation? {
        guard take("\"") else { return nil }
        if word(at: position) == NameWord(#"publish""#).word {
            position &+= 8
            return .publish
        }
        return readShortString().flatMap { Operation(NameWord(word: $0)) }
    }

    /// Moves over a string that is plain to its end.
    @inline(__always)
    fileprivate mutating func skipPlainString() -> Bool {
        guard take("\"") else { return false }
        skipPlainText()
        return take("\"")
    }

    /// Moves over a value.
    @inline(__always)
    fileprivate mutating func skipPlainValue() -> Bool {
        let start = position
        if skipPlainString() { return true }
        position = start
        guard let end = endOfValue() else { return false }
        position = end
        return true
    }

    /// The place after a value that starts here; nil where it is none.
    @inline(never)
    private func endOfValue() -> Int? {
        var scanner = self
        do throws(JSONFailure) {
            try scanner.skipValue()
            return scanner.position
        } catch {
            return nil
        }
    }

    /// Moves over an `id` that is certainly one: a short plain string, or up to 15 digits.
    @inline(__always)
    fileprivate mutating func skipPlainID() -> Bool {
        let start = position
        if current == UInt8(ascii: "\"") {
            return skipPlainString() && position - start - 2 <= Limits.idBytesMax
        }
        while current &- UInt8(ascii: "0") <= 9 { position &+= 1 }
        let digits = position - start
        return digits == 1 || (digits > 1 && digits <= 15 && base[start] != UInt8(ascii: "0"))
    }
}
