// JSON as its bytes, parsed one level at a time. Values are passed on untouched, so they are never
// decoded.

import PlugboardMemory
import PlugboardWire

/// The first mistake in a text that should be JSON.
struct JSONFault: Error, Equatable, Sendable {
    /// The offset in bytes from the text's beginning.
    let offset: Int
    let message: String
}

extension JSONFault {
    /// The message that the broker would send, in a form that can stand after "the value is".
    fileprivate init(_ failure: JSONFailure) {
        let isDeep = failure.kind == .depth
        let message =
            isDeep ? "nested deeper than \(Limits.depthMax) arrays and objects" : Refusal(failure).message
        self.init(offset: failure.offset, message: message)
    }
}

/// A well-formed JSON value.
struct JSONValue: Sendable {
    /// The value's bytes, without white space around them.
    let bytes: ArraySlice<UInt8>

    /// Reads a text with one value. Around it there may be only white space.
    init(parsing text: ArraySlice<UInt8>) throws(JSONFault) {
        do throws(JSONFailure) {
            bytes = text.at(try JSONScanner.validate(text.span))
        } catch {
            throw JSONFault(error)
        }
    }

    init(accepted bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    /// The value as it was written.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The characters of a string; nil for other values.
    var string: String? {
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        let spelling = bytes.dropFirst().dropLast()
        return JSONText.string(spelling.span)
    }

    /// A whole number from 0, such as a revision.
    var integer: UInt64? { UInt64(text) }

    /// `true` or `false`.
    var bool: Bool? {
        switch text {
        case "true": true
        case "false": false
        default: nil
        }
    }

    var object: JSONObject? {
        bytes.first == UInt8(ascii: "{") ? try? JSONObject(parsing: bytes) : nil
    }

    /// An array's elements.
    var array: [JSONValue]? {
        guard var walk = JSONWalk(bytes.span, opening: "[") else { return nil }
        var elements: [JSONValue] = []
        while let element = try? walk.nextElement() {
            elements.append(JSONValue(accepted: bytes.at(element)))
        }
        return elements
    }

    /// The elements of an array if all of them are strings.
    var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }

    /// The kind of the value, for messages.
    var kindName: String {
        switch bytes.first {
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "true or false"
        case UInt8(ascii: "n"): "null"
        default: "a number"
        }
    }

}

/// The members of an object in their order. It reads only one level, because a line is one level deeper than
/// the deepest value in it.
struct JSONObject: Sendable {
    struct Member: Sendable {
        let name: String
        /// The offset of the name in the parsed text.
        let offset: Int
        let value: JSONValue
    }

    let members: [Member]

    /// Reads a text with one object. Around it there may be only white space.
    init(parsing text: ArraySlice<UInt8>) throws(JSONFault) {
        let members: [Member]?
        do throws(JSONFailure) { members = try Self.members(text) } catch { throw JSONFault(error) }
        guard let members else {
            let offset = text.prefix { $0 <= 0x20 }.count
            throw JSONFault(offset: offset, message: "not JSON: expected an object")
        }
        self.members = members
    }

    /// Nil if the text doesn't begin like an object.
    private static func members(_ text: ArraySlice<UInt8>) throws(JSONFailure) -> [Member]? {
        guard var walk = JSONWalk(text.span, opening: "{") else { return nil }
        var members: [Member] = []
        while let (name, value) = try walk.nextMember() {
            members.append(
                Member(
                    name: JSONText.string(name.bytes(of: text.span)),
                    offset: name.start - 1,
                    value: JSONValue(accepted: text.at(value))
                )
            )
        }
        try walk.finish()
        return members
    }

    /// The first member of that name.
    subscript(name: String) -> JSONValue? {
        members.first { $0.name == name }?.value
    }
}

extension ArraySlice<UInt8> {
    /// The bytes at a place that counts from the beginning of these bytes.
    fileprivate func at(_ place: ByteRange) -> ArraySlice<UInt8> {
        self[(startIndex + place.start)..<(startIndex + place.end)]
    }
}
