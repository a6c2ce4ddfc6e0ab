// Writes members of a JSON object, each after a comma unless it is the first. Names and texts must need no escapes.

import PlugboardMemory

extension ByteBuffer {
    public mutating func append(member name: StaticString, _ value: UInt64, isFirst: Bool = false) {
        begin(member: name, isFirst)
        append(decimal: value)
    }

    public mutating func append(member name: StaticString, json value: Span<UInt8>) {
        begin(member: name, false)
        append(value)
    }

    public mutating func append(member name: StaticString, text: Span<UInt8>, isFirst: Bool = false) {
        begin(member: name, isFirst)
        append("\"")
        append(text)
        append("\"")
    }

    public mutating func append(member name: StaticString, text: StaticString) {
        append(member: name, text: text.bytes)
    }

    public mutating func append(member name: StaticString, text: String) {
        append(member: name, text: Array(text.utf8).span)
    }

    public mutating func append(member name: StaticString, when milliseconds: UInt64) {
        begin(member: name, false)
        append("\"")
        append(milliseconds: milliseconds)
        append("\"")
    }

    private mutating func begin(member name: StaticString, _ isFirst: Bool) {
        append(isFirst ? "\"" : ",\"")
        append(name)
        append("\":")
    }
}
