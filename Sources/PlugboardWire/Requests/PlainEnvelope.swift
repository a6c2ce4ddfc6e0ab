// The fast path for nearly every line: only the most common fields, no escapes, and at most one space
// after each colon and comma, where many programs put one. It refuses nothing. If anything is unusual or
// wrong, `EnvelopeReader` reads the line from its beginning. A test compares the two.

import PlugboardMemory

extension Request {
    /// Reads a plain line into a fresh request. If it returns false, the line isn't plain; then don't use
    /// the request.
    @inline(__always)
    mutating func readPlain(_ line: Span<UInt8>) -> Bool {
        // All of this stays in registers and is written back once.
        var scanner = JSONScanner(line)
        var operation = Operation.sync
        var fields = FieldSet()
        var cause: WriteCause = .none
        if scanner.takePublish() {
            operation = .publish
            fields = fields.with(.operation)
        } else if !scanner.take("{") {
            return false
        }
        repeat {
            guard let field = scanner.takeFieldName(), !fields.has(field) else { return false }
            fields = fields.with(field)
            if field == .operation {
                guard let found = scanner.plainOperation() else { return false }
                operation = found.operation
                scanner.position = found.end
            } else if field == .durable {
                guard scanner.takeTrue() else { return false }
            } else if field == .cause {
                guard let revision = scanner.takeShortInteger() else { return false }
                cause = WriteCause(revision)
            } else {
                let start = scanner.position
                guard scanner.skipPlain(field) else { return false }
                note(field, start, scanner.position)
            }
        } while scanner.takeWithSpace(",")
        self.operation = operation
        self.fields = fields
        self.cause = cause
        isDurable = fields.has(.durable)
        return scanner.take("}") && scanner.isAtEnd && fields.isComplete(for: operation)
    }

    @inline(__always)
    private mutating func note(_ field: Field, _ start: Int, _ end: Int) {
        switch field {
        case .key: key = ByteRange(start &+ 1, end &- 1)
        case .value: value = ByteRange(start, end)
        default: id = ByteRange(start, end)
        }
    }
}

extension FieldSet {
    /// Whether these are the fields of a plain request.
    @inline(__always)
    fileprivate func isComplete(for operation: Operation) -> Bool {
        // Nearly every line has these fields. Checking them needs no table.
        let published = FieldSet().with(.operation).with(.key).with(.value)
        let further = FieldSet().with(.id).with(.cause).with(.durable)
        if operation == .publish, subtracting(further) == published { return true }
        return isSufficient(for: operation)
    }

    @inline(never)
    private func isSufficient(for operation: Operation) -> Bool {
        has(.operation) && operation.isPlain && operation.required.isSubset(of: self)
            && subtracting(operation.allowed).isEmpty
    }
}

extension JSONScanner {
    /// Moves past `{"op":"publish",`, with which most lines begin, and a space.
    @inline(__always)
    fileprivate mutating func takePublish() -> Bool {
        guard word(at: 0) == PlainWord.publishStart, word(at: 8) == PlainWord.publishEnd else { return false }
        position = 16
        skipSpace()
        return true
    }

    /// Moves past one character if it is the next.
    @inline(__always)
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard current == UInt8(truncatingIfNeeded: character.value) else { return false }
        position &+= 1
        return true
    }

    /// Moves past one character and a space after it, if the character is the next.
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

    /// Moves past the name of one of the most common fields, its colon and a space. Nil if there is
    /// another name.
    @inline(__always)
    fileprivate mutating func takeFieldName() -> Field? {
        let word = word(at: position)
        let field: Field
        if word == PlainWord.value {
            field = .value
            position &+= 8
        } else if word & 0xFFFF_FFFF_FFFF == PlainWord.key {
            field = .key
            position &+= 6
        } else if word & 0xFF_FFFF_FFFF == PlainWord.id {
            field = .id
            position &+= 5
        } else if word & 0xFF_FFFF_FFFF == PlainWord.operation {
            field = .operation
            position &+= 5
        } else if word == PlainWord.cause {
            field = .cause
            position &+= 8
        } else if word == PlainWord.durable, self.word(at: position &+ 8) & 0xFFFF == PlainWord.nameEnd {
            field = .durable
            position &+= 10
        } else {
            return nil
        }
        skipSpace()
        return field
    }

    /// Moves past `true` if it is next.
    @inline(__always)
    fileprivate mutating func takeTrue() -> Bool {
        guard word(at: position) & 0xFFFF_FFFF == PlainWord.yes else { return false }
        position &+= 4
        return true
    }

    /// The operation that is named here, and the place after it; nil if it isn't plain.
    @inline(never)
    fileprivate func plainOperation() -> (operation: Operation, end: Int)? {
        var scanner = self
        guard scanner.take("\""), let word = scanner.readShortString(),
            let operation = Operation(NameWord(word: word))
        else { return nil }
        return (operation, scanner.position)
    }

    /// Moves past a key, a value or an `id`. Returns false if there is none, or if it isn't plain.
    @inline(__always)
    fileprivate mutating func skipPlain(_ field: Field) -> Bool {
        let start = position
        if take("\"") {
            skipPlainText()
            if take("\"") { return field != .id || position &- start &- 2 <= Limits.idBytesMax }
            position = start
        }
        let end =
            switch field {
            case .value: endOfValue()
            case .id: endOfShortInteger()
            default: -1
            }
        position = end
        return end >= 0
    }

    /// The place after the value that begins here; negative if there is none.
    @inline(never)
    private func endOfValue() -> Int {
        var scanner = self
        guard (try? scanner.skipValue()) != nil else { return -1 }
        return scanner.position
    }

    /// Moves past an integer of up to 15 digits and returns it; nil if there is none.
    @inline(never)
    fileprivate mutating func takeShortInteger() -> UInt64? {
        let end = endOfShortInteger()
        guard end >= 0, let value = integer(ByteRange(position, end)) else { return nil }
        position = end
        return UInt64(clamping: value)
    }

    /// The place after an integer of up to 15 digits; negative if there is none. Such an integer is
    /// always a valid `id`.
    @inline(never)
    private func endOfShortInteger() -> Int {
        var place = position
        while place < end, byte(at: place) &- UInt8(ascii: "0") <= 9 { place &+= 1 }
        let digits = place &- position
        let isShort = digits == 1 || (digits > 1 && digits <= 15 && byte(at: position) != UInt8(ascii: "0"))
        return isShort ? place : -1
    }
}

/// Parts of plain lines, as the words that loading their bytes gives. They are written as numbers,
/// because the compiler evaluates a `NameWord` too late to inline the code that uses it.
private enum PlainWord {
    /// `"key":`
    static let key: UInt64 = 0x3A22_7965_6B22
    /// `"value":`
    static let value: UInt64 = 0x3A22_6575_6C61_7622
    /// `"id":`
    static let id: UInt64 = 0x3A_2264_6922
    /// `"op":`
    static let operation: UInt64 = 0x3A_2270_6F22
    /// `"cause":`
    static let cause: UInt64 = 0x3A22_6573_7561_6322
    /// `"durable`
    static let durable: UInt64 = 0x656C_6261_7275_6422
    /// `":`
    static let nameEnd: UInt64 = 0x3A22
    /// `true`
    static let yes: UInt64 = 0x6575_7274
    /// `{"op":"p`
    static let publishStart: UInt64 = 0x7022_3A22_706F_227B
    /// `ublish",`
    static let publishEnd: UInt64 = 0x2C22_6873_696C_6275
}
