// Converts between Codable types and JSON. It is the one file that needs Foundation; the part
// without localisation is enough and starts faster.

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import PlugboardWire

extension JSON {
    // Neither changes after it was made, so it is safe to share them.
    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return encoder
    }()
    private static let decoder = JSONDecoder()

    /// The JSON of a value; a `JSON` is taken as it is.
    /// - Throws: `BusError.unencodable`.
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

    /// The value as another type; as a `JSON` it stays what it is.
    /// - Throws: what the type's decoding throws, such as `DecodingError`.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        if let json = self as? Value { return json }
        return try Self.decoder.decode(type, from: Data(bytes))
    }
}

extension JSON {
    /// Encodes a number as one, within 38 digits exactly.
    func encodeNumber(to container: inout any SingleValueEncodingContainer) throws {
        if let integer = Int64(text) {
            try container.encode(integer)
        } else if let decimal = Decimal(string: text), decimal.isFinite {
            try container.encode(decimal)
        } else {
            try container.encode(try decode(as: Double.self))
        }
    }

    /// The number that a decoder hands out.
    static func decodeNumber(from container: any SingleValueDecodingContainer) throws -> JSON {
        if let integer = try? container.decode(Int64.self) { return JSON(trusted: Array("\(integer)".utf8)) }
        let decimal = try container.decode(Decimal.self)
        return JSON(trusted: Array("\(decimal)".utf8))
    }
}
