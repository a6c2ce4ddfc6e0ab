// A value as the bytes it is written with: what the bus keeps and passes on. Always
// one well-formed JSON value on one line, so that it can stand in a message as it is.

import PlugboardMemory
import PlugboardWire

/// A JSON value in its own spelling: `1000.00` stays `1000.00`.
///
/// Every call that takes or gives a Codable value takes and gives a `JSON` too, and
/// then nothing is parsed or rewritten:
/// ```swift
/// try await bus.publish("cart.total", JSON("1000.00"))
/// ```
/// Within another Codable type (a property of type `JSON`) the value is kept, but
/// numbers may be spelled anew.
public struct JSON: Sendable, Hashable {
    /// The UTF-8 of the value, without white space round it or a line break in it.
    public let bytes: [UInt8]

    /// Takes text that is JSON. Line feeds between its parts become spaces.
    /// - Throws: `BusError.unencodable` with the place and what was expected.
    public init(_ text: String) throws {
        try self.init(bytes: Array(text.utf8))
    }

    /// Takes bytes that are JSON, under the same conditions.
    public init(bytes: [UInt8]) throws {
        do throws(JSONFailure) {
            let place = try JSONScanner.validate(bytes.span)
            // A line break can only stand between parts: a string has it escaped.
            let isBreak: (UInt8) -> Bool = { $0 == 0x0A || $0 == 0x0D }
            let isPlain = place.count == bytes.count && !bytes.contains(where: isBreak)
            self.bytes = isPlain ? bytes : bytes[place.start..<place.end].map { isBreak($0) ? 0x20 : $0 }
        } catch {
            throw BusError.unencodable(reason: "expected \(error.reason) at byte \(error.offset)")
        }
    }

    /// Takes what the broker or an encoder of ours wrote.
    init(trusted bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(copying bytes: Span<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// A JSON string with this content.
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
