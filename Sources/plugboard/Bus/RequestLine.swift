// One request as its line. Values keep their spelling.

import PlugboardMemory
import PlugboardWire

/// Builds a request's line, field by field.
struct RequestLine: Sendable {
    private(set) var bytes: [UInt8]

    init(_ operation: String) {
        bytes = Array(#"{"op":"\#(operation)""#.utf8)
    }

    func adding(_ field: String, string: String) -> RequestLine {
        adding(field, JSONString.encoded(string))
    }

    func adding(_ field: String, json: ArraySlice<UInt8>) -> RequestLine {
        adding(field, json)
    }

    /// Leaves the field out where there is no number.
    func adding(_ field: String, _ number: UInt64?) -> RequestLine {
        number.map { adding(field, Array("\($0)".utf8)) } ?? self
    }

    /// Leaves the field out if it has the protocol's default.
    func adding(_ field: String, _ flag: Bool, unless standard: Bool) -> RequestLine {
        flag == standard ? self : adding(field, Array("\(flag)".utf8))
    }

    func adding(_ field: String, strings: [String]) -> RequestLine {
        let list = strings.map { JSONString.encoded($0) }.joined(separator: [UInt8(ascii: ",")])
        return adding(field, [UInt8(ascii: "[")] + list + [UInt8(ascii: "]")])
    }

    /// The line, with its line feed.
    var line: [UInt8] { bytes + Array("}\n".utf8) }

    private func adding(_ field: String, _ value: some Collection<UInt8>) -> RequestLine {
        var copy = self
        copy.bytes += Array(#","\#(field)":"#.utf8)
        copy.bytes += value
        return copy
    }
}

/// Strings as JSON spells them.
enum JSONString {
    static func encoded(_ text: String) -> [UInt8] {
        var buffer = ByteBuffer()
        JSONText.append(text, to: &buffer)
        return Array(buffer.bytes)
    }
}
