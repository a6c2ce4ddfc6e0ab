// A value as the bytes in which it is written, which the bus keeps and passes on. It is always one
// well-formed JSON value on one line, so it can be put into a message as it is.

import PlugboardMemory
import PlugboardWire

/// A JSON value in its own spelling: `1000.00` stays `1000.00`.
///
/// Every function that takes or returns a Codable value takes or returns a `JSON`, too. Then nothing is
/// parsed or rewritten:
/// ```swift
/// try await bus.publish("cart.total", JSON("1000.00"))
/// ```
/// As a part of another Codable type (a property of type `JSON`) the value stays the same, but its
/// numbers may be spelled differently.
public struct JSON: Sendable, Hashable {
    /// The UTF-8 of the value, without white space around it and without line breaks.
    public let bytes: [UInt8]

    /// Takes text that is JSON. Line breaks between its parts become spaces.
    /// - Throws: `BusError.unencodable` with the place and what was expected.
    public init(_ text: String) throws {
        try self.init(bytes: Array(text.utf8))
    }

    /// Takes bytes that are JSON. Line breaks between its parts become spaces.
    public init(bytes: [UInt8]) throws {
        do throws(JSONFailure) {
            let place = try JSONScanner.validate(bytes.span)
            // A line break can only be between parts, because a string has it escaped.
            let isBreak: (UInt8) -> Bool = { $0 == 0x0A || $0 == 0x0D }
            let isPlain = place.count == bytes.count && !bytes.contains(where: isBreak)
            self.bytes = isPlain ? bytes : bytes[place.start..<place.end].map { isBreak($0) ? 0x20 : $0 }
        } catch {
            throw BusError.unencodable(reason: "expected \(error.reason) at byte \(error.offset)")
        }
    }

    /// Takes bytes that the broker or this library wrote.
    @usableFromInline
    init(trusted bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(copying bytes: Span<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// A JSON string with these characters.
    public static func string(_ text: String) -> JSON {
        JSON(trusted: JSONText.encoded(text))
    }

    public static let null = JSON(trusted: Array("null".utf8))

    /// The value as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    public var isNull: Bool { self == .null }
}

extension JSON: CustomStringConvertible {
    public var description: String { text }
}
