// Reads parts of a `JSON`, and builds one from parts. Parts keep their spelling: a price that was read as
// `49.90` is written as `49.90`.

import PlugboardMemory
import PlugboardWire

extension JSON {
    /// The member of an object; nil if there is none, or if this isn't an object. If a name occurs twice,
    /// its last member counts.
    ///
    /// ```swift
    /// let product = try JSON(#"{"title":"Phone","price":49.90}"#)
    /// print(product["price"]?.text ?? "not for sale")   // 49.90
    /// ```
    public subscript(name: String) -> JSON? {
        members?.last { $0.name == name }?.value
    }

    /// An object's members in order; nil if this isn't an object.
    public var members: [(name: String, value: JSON)]? {
        let text = bytes.span
        guard var reader = JSONWalk(text, opening: "{") else { return nil }
        var members: [(name: String, value: JSON)] = []
        // A `JSON` is well-formed, so nothing is thrown here.
        while let (name, value) = try? reader.nextMember() {
            members.append((text.text(name) ?? "", JSON(copying: value.bytes(of: text))))
        }
        return members
    }

    /// An array's elements; nil if this isn't an array.
    public var elements: [JSON]? {
        let text = bytes.span
        guard var reader = JSONWalk(text, opening: "[") else { return nil }
        var elements: [JSON] = []
        while let element = try? reader.nextElement() {
            elements.append(JSON(copying: element.bytes(of: text)))
        }
        return elements
    }

    /// A string's characters; nil if this isn't a string.
    public var string: String? {
        let trimmed = trimmed
        guard trimmed.first == UInt8(ascii: "\"") else { return nil }
        return trimmed.span.text(ByteRange(1, trimmed.count - 1))
    }

    /// A whole number without fraction or exponent, within ±(2^63−1); nil if this is anything else.
    public var integer: Int? {
        let trimmed = trimmed
        guard trimmed.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }) else {
            return nil
        }
        return Int(String(decoding: trimmed, as: UTF8.self))
    }

    /// The bytes without the white space around the value.
    private var trimmed: ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 <= 0x20 }
        let start = bytes.drop(while: isSpace)
        let end = start.lastIndex { !isSpace($0) } ?? start.startIndex
        return start.prefix(through: end)
    }
}

extension JSON {
    /// An object of these members, in this order.
    ///
    /// ```swift
    /// JSON.object(["sku": .string("B07"), "quantity": .integer(2)])
    /// ```
    public static func object(_ members: KeyValuePairs<String, JSON>) -> JSON {
        object(members.map { ($0.key, $0.value) })
    }

    /// The same for a list of members.
    public static func object(_ members: [(name: String, value: JSON)]) -> JSON {
        var bytes = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONText.append(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes += member.value.bytes
        }
        bytes.append(UInt8(ascii: "}"))
        return JSON(trusted: bytes)
    }

    /// An array of these elements.
    public static func array(_ elements: [JSON]) -> JSON {
        JSON(trusted: ObjectWriter.array(elements.map(\.bytes)))
    }

    public static let `true` = JSON(trusted: Array("true".utf8))

    /// A whole number.
    public static func integer(_ number: Int) -> JSON {
        JSON(trusted: Array(String(number).utf8))
    }
}
