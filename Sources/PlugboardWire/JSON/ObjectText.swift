// A JSON object as text, put together member by member: requests, and what programs print.

import PlugboardMemory

/// Builds an object; each name is to be given once, and has nothing to escape. Values keep their
/// spelling. What is nil is left out.
public struct ObjectText: Sendable {
    /// The request that it is; empty if it is none.
    public let operation: String
    /// All but the closing brace.
    private var open: [UInt8] = [UInt8(ascii: "{")]

    /// An object without members.
    public init() {
        operation = ""
    }

    /// A request.
    public init(op operation: String) {
        self.operation = operation
        open.reserveCapacity(64)
        add("op")
        JSONText.append(operation, to: &open)
    }

    /// The object.
    public var bytes: [UInt8] { open + [UInt8(ascii: "}")] }

    /// The same with a line feed.
    public var line: [UInt8] { open + "}\n".utf8 }

    public consuming func adding(_ name: String, json: (some Collection<UInt8>)?) -> ObjectText {
        guard let json else { return self }
        add(name)
        open += json
        return self
    }

    public consuming func adding(_ name: String, string: String?) -> ObjectText {
        guard let string else { return self }
        add(name)
        JSONText.append(string, to: &open)
        return self
    }

    public consuming func adding(_ name: String, _ number: (some BinaryInteger)?) -> ObjectText {
        adding(name, json: number.map { String($0).utf8 })
    }

    /// Leaves the member out if it has the protocol's default.
    public consuming func adding(_ name: String, _ flag: Bool, unless standard: Bool) -> ObjectText {
        adding(name, json: flag == standard ? nil : "\(flag)".utf8)
    }

    public consuming func adding(_ name: String, strings: [String]) -> ObjectText {
        adding(name, json: Self.array(strings.map { JSONText.encoded($0) }))
    }

    /// An array of values.
    public static func array(_ values: [[UInt8]]) -> [UInt8] {
        [UInt8(ascii: "[")] + values.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }

    private mutating func add(_ name: String) {
        if open.count > 1 { open.append(UInt8(ascii: ",")) }
        open.append(UInt8(ascii: "\""))
        open += name.utf8
        open += "\":".utf8
    }
}

extension JSONText {
    /// A string with its quotes.
    public static func encoded(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return bytes
    }

    /// Adds a string with its quotes.
    public static func append(_ text: String, to bytes: inout [UInt8]) {
        let needsEscapes = text.unicodeScalars.contains {
            $0 == "\"" || $0 == "\\" || InvisibleCharacters.contains($0)
        }
        if needsEscapes {
            var buffer = ByteBuffer()
            append(text, to: &buffer)
            bytes += Array(buffer.bytes)
        } else {
            bytes.append(UInt8(ascii: "\""))
            bytes += text.utf8
            bytes.append(UInt8(ascii: "\""))
        }
    }
}
