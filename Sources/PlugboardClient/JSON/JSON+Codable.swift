// Converts between Codable types and JSON. This is the only file that needs Foundation. The part without
// localisation is enough, and the program starts faster with it.

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import PlugboardWire

extension JSON {
    // Neither of these is changed, so threads may share them.
    @usableFromInline static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return encoder
    }()
    @usableFromInline static let decoder = JSONDecoder()

    /// The JSON of a value. A `JSON` stays as it is.
    /// - Throws: `BusError.unencodable`.
    @inlinable
    public init(encoding value: some Encodable) throws {
        if let json = value as? JSON {
            self = json
            return
        }
        do {
            self.init(trusted: Array(try Self.encoder.encode(value)))
        } catch {
            throw BusError.unencodable(reason: "\(error)")
        }
    }

    /// The value as another type. As a `JSON` it stays as it is.
    /// - Throws: what the type's decoding throws, such as `DecodingError`.
    @inlinable
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        if let json = self as? Value { return json }
        return try Self.decoder.decode(type, from: Data(bytes))
    }
}

extension JSON {
    /// Encodes a number as a number. With up to 38 digits it is exact.
    func encodeNumber(to container: inout any SingleValueEncodingContainer) throws {
        if let integer = Int64(text) {
            try container.encode(integer)
        } else if let decimal = Decimal(string: text), decimal.isFinite {
            try container.encode(decimal)
        } else {
            try container.encode(try decode(as: Double.self))
        }
    }

    /// The number that a decoder returns.
    static func decodeNumber(from container: any SingleValueDecodingContainer) throws -> JSON {
        if let integer = try? container.decode(Int64.self) { return JSON(trusted: Array("\(integer)".utf8)) }
        let decimal = try container.decode(Decimal.self)
        return JSON(trusted: Array("\(decimal)".utf8))
    }
}
