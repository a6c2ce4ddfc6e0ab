// A JSON object as text, built field by field, for this program's own output.

/// Builds an object; each name is to be given once.
struct JSONObjectText {
    private var fields: [UInt8] = []

    /// The object.
    var bytes: [UInt8] { [UInt8(ascii: "{")] + fields + [UInt8(ascii: "}")] }

    func adding(_ field: String, string: String) -> JSONObjectText {
        adding(field, json: JSONString.encoded(string))
    }

    func adding(_ field: String, number: some BinaryInteger) -> JSONObjectText {
        adding(field, json: Array("\(number)".utf8))
    }

    func adding(_ field: String, strings: [String]) -> JSONObjectText {
        adding(field, json: Self.array(strings.map { JSONString.encoded($0) }))
    }

    func adding(_ field: String, json: [UInt8]) -> JSONObjectText {
        var copy = self
        if !fields.isEmpty { copy.fields.append(UInt8(ascii: ",")) }
        copy.fields += JSONString.encoded(field) + [UInt8(ascii: ":")] + json
        return copy
    }

    /// An array of values.
    static func array(_ values: [[UInt8]]) -> [UInt8] {
        [UInt8(ascii: "[")] + Array(values.joined(separator: [UInt8(ascii: ",")])) + [UInt8(ascii: "]")]
    }
}
