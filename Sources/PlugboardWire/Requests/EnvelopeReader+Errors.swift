// The `error` that a server answers a call with: a small object with a word for programs
// and a sentence for people.

extension EnvelopeReader {
    mutating func decodeError(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        guard scanner.current == UInt8(ascii: "{") else {
            return try refuseType(of: .error, "an object with \"code\" and \"message\"", &scanner)
        }
        let start = scanner.position
        scanner.position += 1
        scanner.skipWhitespace()
        var goesOn = scanner.current == UInt8(ascii: "\"")
        if scanner.current == UInt8(ascii: "}") {
            scanner.position += 1
        } else if !goesOn {
            throw scanner.syntax("a name in quotes")
        }
        while goesOn {
            try decodeErrorMember(&scanner, line)
            goesOn = try Self.skipComma(&scanner)
        }
        if options.errorCode.isEmpty { complainOfError("\"error\" needs \"code\"", start) }
        if options.errorMessage.isEmpty { complainOfError("\"error\" needs \"message\"", start) }
    }

    private mutating func decodeErrorMember(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        guard scanner.current == UInt8(ascii: "\"") else { throw scanner.syntax("a name in quotes") }
        let range = try decodeString(&scanner, line)
        try scanner.skipColon()
        let name = range.bytes(of: UnsafeRawBufferPointer(line))
        let (code, message): (StaticString, StaticString) = ("code", "message")
        if code.equals(name) {
            if !options.errorCode.isEmpty { complainOfRepeat(code, range.start) }
            try decodeCode(&scanner, line)
        } else if message.equals(name) {
            if !options.errorMessage.isEmpty { complainOfRepeat(message, range.start) }
            try decodeMessage(&scanner)
        } else {
            let text = "\"error\" has no member \"\(excerpt(name))\""
            complain(Refusal(.unknownField, text, hint: "it takes code, message", at: range.start))
            try scanner.skipValue()
        }
    }

    private mutating func decodeCode(
        _ scanner: inout JSONScanner,
        _ line: UnsafeMutableRawBufferPointer
    ) throws(JSONFailure) {
        let start = scanner.position
        if scanner.current == UInt8(ascii: "\"") {
            options.errorCode = try decodeString(&scanner, line)
        } else {
            try scanner.skipValue()
            options.errorCode = ByteRange(start, scanner.position)
        }
        let code = options.errorCode.bytes(of: UnsafeRawBufferPointer(line))
        if code.count > Limits.codeBytesMax {
            complain(Refusal(.limit, "a code has at most \(Limits.codeBytesMax) bytes", at: start + 1))
        } else if !Self.isCode(code) {
            let message = "\"code\" takes a word of a-z, 0-9 and _, such as out_of_stock"
            complain(Refusal(.wrongType, message, at: start))
        }
    }

    /// A message is passed on as it was written, so it is scanned but not decoded.
    private mutating func decodeMessage(_ scanner: inout JSONScanner) throws(JSONFailure) {
        let start = scanner.position
        let isString = scanner.current == UInt8(ascii: "\"")
        try scanner.skipValue()
        options.errorMessage = ByteRange(start, scanner.position)
        if !isString { complain(Refusal(.wrongType, "\"message\" takes a string", at: start)) }
    }

    private mutating func complainOfRepeat(_ name: StaticString, _ place: Int) {
        complain(Refusal(.duplicateField, "\"\(name)\" stands twice", at: place))
    }

    private mutating func complainOfError(_ message: String, _ place: Int) {
        complain(Refusal(.missingField, message, at: place))
    }

    private static func isCode(_ code: UnsafeRawBufferPointer) -> Bool {
        guard let first = code.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z") else {
            return false
        }
        return code.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x5F: true
            default: false
            }
        }
    }
}
