// What a command reads and writes, as bytes: JSON, or with `--raw` a text. Either ends with a line feed.

import PlugboardWire

/// Values as a command's standard input and output.
enum CommandText {
    /// The value as standard input.
    static func input(_ value: JSONValue, isRaw: Bool) -> [UInt8] {
        if isRaw, let text = value.string { return Array(text.utf8) + [0x0A] }
        return value.bytes + [0x0A]
    }

    /// The value that a standard output stands for: nothing is null, and for a text the empty one.
    static func value(_ output: [UInt8], isRaw: Bool) throws(JSONFault) -> ArraySlice<UInt8> {
        if isRaw {
            guard let text = string(output) else { throw JSONFault(offset: 0, message: "no text in UTF-8") }
            return JSONText.encoded(text)[...]
        }
        if output.allSatisfy({ $0 == 0x20 || (0x09...0x0D).contains($0) }) { return Array("null".utf8)[...] }
        return ValueArgument.oneLine(try JSONValue(parsing: output[...]).bytes)
    }

    /// The text without the line feed at its end; nil if it isn't UTF-8.
    static func string(_ output: [UInt8]) -> String? {
        var bytes = output
        if bytes.last == 0x0A { bytes.removeLast() }
        return String(validating: bytes, as: UTF8.self)
    }
}
