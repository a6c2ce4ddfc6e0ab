// Reads the `error` with which a server may answer a call: an object with a `code` for programs and a
// `message` for people. After a mistake, reading goes on, as everywhere in the reader.

import PlugboardMemory

extension EnvelopeReader {
    mutating func decodeError(_ line: inout LineCursor) throws(JSONFailure) {
        guard line.current == UInt8(ascii: "{") else {
            return try refuseType(of: .error, "an object with \"code\" and \"message\"", &line)
        }
        let start = line.position
        var check = begin(line)
        line.position += 1
        line.skipWhitespace()
        var goesOn = line.current == UInt8(ascii: "\"")
        if line.current == UInt8(ascii: "}") {
            line.position += 1
        } else if !goesOn {
            throw line.syntax("a name in quotes")
        }
        while goesOn {
            try decodeErrorMember(&line, &check)
            goesOn = try Self.skipComma(&line)
        }
        forgetExtensions(since: check)
        if options.errorCode.isEmpty { complainOfError("\"error\" needs \"code\"", start) }
        if options.errorMessage.isEmpty { complainOfError("\"error\" needs \"message\"", start) }
    }

    private mutating func decodeErrorMember(
        _ line: inout LineCursor, _ check: inout EnvelopeCheck
    ) throws(JSONFailure) {
        guard line.current == UInt8(ascii: "\"") else { throw line.syntax("a name in quotes") }
        let name = try line.decodeString()
        try line.skipColon()
        countField(&check, at: name.start)
        let (code, message): (StaticString, StaticString) = ("code", "message")
        if name.bytes(of: line.bytes).isEqual(to: code) {
            if !options.errorCode.isEmpty { complainOfRepeat(code, name.start) }
            try decodeCode(&line)
        } else if name.bytes(of: line.bytes).isEqual(to: message) {
            if !options.errorMessage.isEmpty { complainOfRepeat(message, name.start) }
            try decodeMessage(&line)
        } else {
            if !noteExtension(name, line.bytes, check) {
                let text = "\"error\" has no member \"\(excerpt(name.bytes(of: line.bytes)))\""
                complain(Refusal(.unknownField, text, hint: "it takes code, message", at: name.start))
            }
            try line.skipValue()
        }
    }

    private mutating func decodeCode(_ line: inout LineCursor) throws(JSONFailure) {
        let start = line.position
        if line.current == UInt8(ascii: "\"") {
            options.errorCode = try line.decodeString()
        } else {
            try line.skipValue()
            options.errorCode = ByteRange(start, line.position)
        }
        let code = options.errorCode.bytes(of: line.bytes)
        if code.count > Limits.codeBytesMax {
            complain(Refusal(.limit, "a code has at most \(Limits.codeBytesMax) bytes", at: start + 1))
        } else if !Self.isCode(code) {
            let message = "\"code\" takes a word of a-z, 0-9 and _, such as out_of_stock"
            complain(Refusal(.wrongType, message, at: start))
        }
    }

    /// A message is passed on as written, so it isn't decoded.
    private mutating func decodeMessage(_ line: inout LineCursor) throws(JSONFailure) {
        let start = line.position
        let isString = line.current == UInt8(ascii: "\"")
        try line.skipValue()
        options.errorMessage = ByteRange(start, line.position)
        if !isString { complain(Refusal(.wrongType, "\"message\" takes a string", at: start)) }
    }

    private mutating func complainOfRepeat(_ name: StaticString, _ place: Int) {
        complain(Refusal(.duplicateField, "\"\(name)\" stands twice", at: place))
    }

    private mutating func complainOfError(_ message: String, _ place: Int) {
        complain(Refusal(.missingField, message, at: place))
    }

    private static func isCode(_ code: Span<UInt8>) -> Bool {
        guard let first = code.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z") else {
            return false
        }
        for index in code.indices {
            switch code[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x5F: continue
            default: return false
            }
        }
        return true
    }
}
