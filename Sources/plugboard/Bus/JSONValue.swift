// JSON as its bytes, parsed one level at a time. Values are passed on untouched, so they are never
// decoded.

import PlugboardMemory
import PlugboardWire

/// The first thing wrong with a text that should be JSON.
struct JSONFault: Error, Equatable, Sendable {
    /// In bytes from the text's beginning.
    let offset: Int
    let message: String
}

/// A well-formed JSON value.
struct JSONValue: Sendable {
    /// The value's own bytes, no white space round them.
    let bytes: ArraySlice<UInt8>

    /// A text that is one value, with nothing but white space round it.
    init(parsing text: ArraySlice<UInt8>) throws(JSONFault) {
        bytes = try Self.trimmed(text)
    }

    init(accepted bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    /// The value as it was written.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// A string's characters.
    var string: String? {
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        return Self.decoded(bytes.dropFirst().dropLast())
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
        guard bytes.first == UInt8(ascii: "[") else { return nil }
        var walk = JSONWalk(bytes)
        return try? walk.elements()
    }

    /// An array's elements where all are strings.
    var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }

    /// What kind of value it is, for messages.
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

    private static func trimmed(_ text: ArraySlice<UInt8>) throws(JSONFault) -> ArraySlice<UInt8> {
        var walk = JSONWalk(text)
        return try walk.whole()
    }

    static func decoded(_ inner: ArraySlice<UInt8>) -> String {
        guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
        return String(decoding: JSONText.characters(inner.span), as: UTF8.self)
    }
}

/// The members of an object in their order. One level only, so that a line whose
/// value is as deep as a value may be is still read.
struct JSONObject: Sendable {
    struct Member: Sendable {
        let name: String
        /// Where the name stands in the text that was parsed.
        let offset: Int
        let value: JSONValue
    }

    let members: [Member]

    /// A text that is one object, with nothing but white space round it.
    init(parsing text: ArraySlice<UInt8>) throws(JSONFault) {
        var walk = JSONWalk(text)
        members = try walk.members()
    }

    /// The first member of that name.
    subscript(name: String) -> JSONValue? {
        members.first { $0.name == name }?.value
    }
}
