// Moves over one level of JSON with the wire's scanner, noting where things stand.

import PlugboardMemory
import PlugboardWire

/// Goes over one container, or one value.
struct JSONWalk {
    private let text: ArraySlice<UInt8>
    private var position = 0

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
    }

    mutating func whole() throws(JSONFault) -> ArraySlice<UInt8> {
        skipSpace()
        let value = try value()
        try finish()
        return value
    }

    mutating func members() throws(JSONFault) -> [JSONObject.Member] {
        var members: [JSONObject.Member] = []
        skipSpace()
        try expect("{", "an object")
        guard !take("}") else {
            try finish()
            return members
        }
        repeat {
            skipSpace()
            let offset = position
            guard byte == UInt8(ascii: "\"") else { throw fault("a name in quotes") }
            let name = try value()
            skipSpace()
            try expect(":", "a colon")
            skipSpace()
            let value = JSONValue(accepted: try value())
            members.append(
                .init(name: JSONValue.decoded(name.dropFirst().dropLast()), offset: offset, value: value)
            )
        } while take(",")
        try expect("}", "a comma or }")
        try finish()
        return members
    }

    mutating func elements() throws(JSONFault) -> [JSONValue] {
        var elements: [JSONValue] = []
        try expect("[", "an array")
        guard !take("]") else { return elements }
        repeat {
            skipSpace()
            elements.append(JSONValue(accepted: try value()))
        } while take(",")
        try expect("]", "a comma or ]")
        return elements
    }

    private var byte: UInt8? { position < text.count ? text[text.startIndex + position] : nil }

    private mutating func value() throws(JSONFault) -> ArraySlice<UInt8> {
        let start = position
        let end = try Self.valueEnd(text.span, from: start).get()
        position = end
        return text[(text.startIndex + start)..<(text.startIndex + end)]
    }

    private static func valueEnd(_ text: Span<UInt8>, from start: Int) -> Result<Int, JSONFault> {
        var scanner = JSONScanner(text, at: start)
        do throws(JSONFailure) {
            try scanner.skipValue()
            return .success(scanner.position)
        } catch {
            return .failure(JSONFault(offset: error.offset, message: Refusal(error).message))
        }
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func take(_ mark: Unicode.Scalar) -> Bool {
        skipSpace()
        guard byte == UInt8(ascii: mark) else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ mark: Unicode.Scalar, _ name: String) throws(JSONFault) {
        guard take(mark) else { throw fault(name) }
    }

    private mutating func finish() throws(JSONFault) {
        skipSpace()
        guard position == text.count else { throw fault("nothing more after the value") }
    }

    private func fault(_ expected: String) -> JSONFault {
        JSONFault(offset: position, message: "not JSON: expected \(expected)")
    }
}
