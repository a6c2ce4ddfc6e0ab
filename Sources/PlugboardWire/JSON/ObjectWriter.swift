// Builds a JSON object as text, one member after another. The client library uses it for requests, and
// programs for what they print.

import PlugboardMemory

/// Builds an object. Give each name once; a name must not need escapes. Values keep their spelling. A
/// member whose value is nil is left out.
public struct ObjectWriter: Sendable {
    /// The operation if this is a request; otherwise empty.
    public let operation: String
    /// Everything but the closing brace.
    private var open: [UInt8] = [UInt8(ascii: "{")]
    /// Where the operation ends in `open`.
    private var operationEnd = 1

    /// An empty object.
    public init() {
        operation = ""
    }

    /// A request for an operation.
    public init(op operation: String) {
        self.operation = operation
        open.reserveCapacity(64)
        add("op")
        JSONText.append(operation, to: &open)
        operationEnd = open.count
    }

    /// The whole object.
    public var bytes: [UInt8] { open + [UInt8(ascii: "}")] }

    /// The object and a line feed.
    public var line: [UInt8] { open + "}\n".utf8 }

    /// The request with an `id`, and a line feed. Allocates once. The `id` comes right behind the operation:
    /// if a broker can't read a line to its end, its answer has only what came before.
    public func line(id: some BinaryInteger) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(open.count + 32)
        line += open[..<operationEnd]
        line += #","id":"#.utf8
        line += String(id).utf8
        line += open[operationEnd...]
        line += "}\n".utf8
        return line
    }

    public consuming func adding(_ name: String, json: (some Collection<UInt8>)?) -> ObjectWriter {
        guard let json else { return self }
        add(name)
        open += json
        return self
    }

    public consuming func adding(_ name: String, string: String?) -> ObjectWriter {
        guard let string else { return self }
        add(name)
        JSONText.append(string, to: &open)
        return self
    }

    public consuming func adding(_ name: String, _ number: (some BinaryInteger)?) -> ObjectWriter {
        adding(name, json: number.map { String($0).utf8 })
    }

    /// Leaves the member out if it has the protocol's default, `standard`.
    public consuming func adding(_ name: String, _ flag: Bool, unless standard: Bool) -> ObjectWriter {
        adding(name, json: flag == standard ? nil : "\(flag)".utf8)
    }

    public consuming func adding(_ name: String, strings: [String]) -> ObjectWriter {
        adding(name, json: Self.array(strings.map { JSONText.encoded($0) }))
    }

    /// An array of values that are JSON.
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
        // Nearly all keys are printable ASCII. Then no character needs a closer look.
        let isPlain = text.utf8.allSatisfy {
            (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        if isPlain {
            bytes.append(UInt8(ascii: "\""))
            bytes += text.utf8
            bytes.append(UInt8(ascii: "\""))
        } else {
            var buffer = ByteBuffer()
            append(text, to: &buffer)
            bytes += Array(buffer.bytes)
        }
    }
}
