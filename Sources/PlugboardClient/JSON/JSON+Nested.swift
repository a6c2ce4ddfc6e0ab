// A `JSON` as a part of another Codable type. Coders work on parsed parts, so the value survives, but
// perhaps not the spelling of its numbers.

import PlugboardMemory
import PlugboardWire

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        bytes = try Tree(from: decoder).bytes
    }

    public func encode(to encoder: any Encoder) throws {
        try Self.encode(bytes, to: encoder)
    }

    private static func encode(_ bytes: [UInt8], to encoder: any Encoder) throws {
        switch bytes.first {
        case UInt8(ascii: "{"): try encodeObject(bytes.span, to: encoder)
        case UInt8(ascii: "["): try encodeArray(bytes.span, to: encoder)
        default: try encodeScalar(bytes.span, to: encoder)
        }
    }

    private static func encodeObject(_ raw: Span<UInt8>, to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        guard var members = JSONWalk(raw, opening: "{") else { return }
        while let (name, value) = try members.nextMember() {
            let json = JSON(copying: value.bytes(of: raw))
            try container.encode(json, forKey: Name(raw.text(name) ?? ""))
        }
    }

    private static func encodeArray(_ raw: Span<UInt8>, to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        guard var elements = JSONWalk(raw, opening: "[") else { return }
        while let element = try elements.nextElement() {
            try container.encode(JSON(copying: element.bytes(of: raw)))
        }
    }

    private static func encodeScalar(_ raw: Span<UInt8>, to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let json = JSON(copying: raw)
        switch raw.first {
        case UInt8(ascii: "\""): try container.encode(raw.text(ByteRange(1, raw.count - 1)) ?? "")
        case UInt8(ascii: "t"): try container.encode(true)
        case UInt8(ascii: "f"): try container.encode(false)
        case UInt8(ascii: "n"): try container.encodeNil()
        default: try json.encodeNumber(to: &container)
        }
    }
}

/// A member's name as a coding key.
private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// Builds a value from what a decoder returns.
private struct Tree {
    var bytes: [UInt8] = []

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: Name.self) {
            try appendObject(object)
        } else if var array = try? decoder.unkeyedContainer() {
            try appendArray(&array)
        } else {
            try appendScalar(decoder.singleValueContainer())
        }
    }

    private mutating func appendObject(_ object: KeyedDecodingContainer<Name>) throws {
        bytes =
            JSON.object(
                try object.allKeys.map { ($0.stringValue, try object.decode(JSON.self, forKey: $0)) }
            ).bytes
    }

    private mutating func appendArray(_ array: inout any UnkeyedDecodingContainer) throws {
        var elements: [JSON] = []
        while !array.isAtEnd { elements.append(try array.decode(JSON.self)) }
        bytes = JSON.array(elements).bytes
    }

    private mutating func appendScalar(_ scalar: any SingleValueDecodingContainer) throws {
        if scalar.decodeNil() {
            bytes = JSON.null.bytes
        } else if let flag = try? scalar.decode(Bool.self) {
            bytes = Array((flag ? "true" : "false").utf8)
        } else if let text = try? scalar.decode(String.self) {
            bytes = JSON.string(text).bytes
        } else {
            bytes = try JSON.decodeNumber(from: scalar).bytes
        }
    }
}
