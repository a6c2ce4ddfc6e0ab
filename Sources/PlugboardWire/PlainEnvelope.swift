// The path of nearly every line: compact JSON, the commonest fields, no escapes in
// their names. It decides nothing: whatever is unusual or wrong in any way is left to
// `EnvelopeReader`, which reads the line again from its beginning and says what it is.
// A test holds the two against each other.

extension Request {
    /// Reads a plain line. Returns false, having changed nothing, where it is not plain.
    @inline(__always)
    mutating func readPlain(_ line: UnsafeRawBufferPointer) -> Bool {
        var scanner = JSONScanner(line)
        var request = Request()
        guard scanner.take("{") else { return false }
        repeat {
            guard request.readPlainMember(&scanner) else { return false }
        } while scanner.take(",")
        guard scanner.take("}"), scanner.isAtEnd, request.isComplete else { return false }
        self = request
        return true
    }

    @inline(__always)
    private mutating func readPlainMember(_ scanner: inout JSONScanner) -> Bool {
        guard scanner.take("\""), let name = scanner.readShortString(), scanner.take(":") else {
            return false
        }
        let start = scanner.position
        let field: Field
        switch NameWord(word: name) {
        case NameWord("op"):
            guard let operation = scanner.readPlainOperation() else { return false }
            self.operation = operation
            field = .operation
        case NameWord("key"):
            guard scanner.take("\""), scanner.skipPlainString() else { return false }
            key = ByteRange(start + 1, scanner.position - 1)
            field = .key
        case NameWord("value"):
            guard scanner.skipPlainValue() else { return false }
            value = ByteRange(start, scanner.position)
            field = .value
        case NameWord("id"):
            guard scanner.skipPlainID() else { return false }
            id = ByteRange(start, scanner.position)
            field = .id
        default:
            return false
        }
        let isNew = !fields.has(field)
        fields = fields.with(field)
        return isNew
    }

    @inline(__always)
    private var isComplete: Bool {
        fields.has(.operation) && !operation.hasRules && operation.required.isSubset(of: fields)
            && fields.subtracting(operation.allowed).isEmpty
    }
}

extension JSONScanner {
    /// Moves over one character if it is the next.
    @inline(__always)
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < end, base[position] == UInt8(truncatingIfNeeded: character.value) else {
            return false
        }
        position &+= 1
        return true
    }

    @inline(__always)
    fileprivate mutating func readPlainOperation() -> Operation? {
        guard take("\""), let word = readShortString() else { return nil }
        return Operation(NameWord(word: word))
    }

    /// Moves over the rest of a string that is plain to its end.
    @inline(__always)
    fileprivate mutating func skipPlainString() -> Bool {
        skipPlainText()
        return take("\"")
    }

    @inline(__always)
    fileprivate mutating func skipPlainValue() -> Bool {
        let start = position
        if take("\"") {
            if skipPlainString() { return true }
            position = start
        }
        do throws(JSONFailure) {
            try skipValue()
            return true
        } catch {
            return false
        }
    }

    /// Moves over an `id` that is certainly one: a short plain string, or up to 15 digits.
    @inline(__always)
    fileprivate mutating func skipPlainID() -> Bool {
        let start = position
        if take("\"") { return skipPlainString() && position - start - 2 <= Limits.idBytesMax }
        while position < end, base[position] &- UInt8(ascii: "0") <= 9 { position &+= 1 }
        let digits = position - start
        return digits == 1 || (digits > 1 && digits <= 15 && base[start] != UInt8(ascii: "0"))
    }
}
