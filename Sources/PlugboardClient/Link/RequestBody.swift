// Requests as bytes: the envelope up to its `id`, which comes last so that a request
// can be written by its caller and numbered when it is handed to the connection.

import PlugboardMemory
import PlugboardWire

/// `{"op":"…"` and the fields that follow, without the closing brace.
struct RequestBody {
    private(set) var bytes: [UInt8] = []

    init(_ operation: StaticString) {
        bytes.reserveCapacity(64)
        append(#"{"op":""#)
        append(operation)
        append("\"")
    }

    /// A request or the write of a batch from its parts.
    init(_ write: Write) {
        self.init(write.operation.name)
        add(",\"key\":", text: write.key)
        if let value = write.value { add(",\"value\":", json: value) }
        if let revision = write.ifRevision { add(",\"if\":", integer: revision) }
        if let cause = write.cause { add(",\"cause\":", integer: cause) }
        if write.lifetime == .connected { append(",\"while\":\"connected\"") }
        if let ttl = write.ttl { add(",\"ttl\":", integer: ttl.milliseconds) }
    }

    mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ name: StaticString, text: String) {
        append(name)
        bytes.appendQuoted(text)
    }

    mutating func add(_ name: StaticString, json: JSON) {
        append(name)
        bytes.append(contentsOf: json.bytes)
    }

    /// A request as a member of another: a will's or a question's write.
    mutating func add(_ name: StaticString, body: RequestBody) {
        append(name)
        bytes.append(contentsOf: body.bytes)
        append("}")
    }

    mutating func add(_ name: StaticString, integer: Int) {
        append(name)
        bytes.append(decimal: integer)
    }

    /// The whole line, with or without an `id`.
    func line(id: Int?) -> [UInt8] {
        var line = bytes
        line.reserveCapacity(bytes.count + 32)
        if let id {
            line.append(contentsOf: #","id":"#.utf8)
            line.append(decimal: id)
        }
        line.append(UInt8(ascii: "}"))
        line.append(0x0A)
        return line
    }

    static func batch(_ writes: [Write]) -> RequestBody {
        var body = RequestBody("batch")
        body.append(",\"writes\":[")
        for (index, write) in writes.enumerated() {
            if index > 0 { body.append(",") }
            body.bytes.append(contentsOf: RequestBody(write).bytes)
            body.append("}")
        }
        body.append("]")
        return body
    }
}

extension [UInt8] {
    mutating func append(decimal value: Int) {
        append(contentsOf: String(value).utf8)
    }

    /// A JSON string with this content. It escapes what JSON requires, and invisible characters.
    mutating func appendQuoted(_ text: String) {
        append(UInt8(ascii: "\""))
        let needsEscapes = text.unicodeScalars.contains {
            $0 == "\"" || $0 == "\\" || InvisibleCharacters.contains($0)
        }
        if needsEscapes {
            var buffer = ByteBuffer()
            JSONText.append(text, to: &buffer)
            append(contentsOf: Array(buffer.bytes[1..<(buffer.count - 1)]))
        } else {
            append(contentsOf: text.utf8)
        }
        append(UInt8(ascii: "\""))
    }
}
