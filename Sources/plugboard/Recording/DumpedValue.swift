// A line of `dump`: a value with what ends it, and how many lines its batch has.

import PlugboardMemory
import PlugboardWire

/// A value that `load` writes again.
struct DumpedValue {
    /// What `dump` takes from the broker's lines.
    static let members = ["key", "revision", "value", "by", "origin", "cause", "ttl", "while"]
    /// How many lines a batch has. `publish --from` ignores the name because of its `x-`.
    static let batch = "x-batch"

    let key: String
    let revision: UInt64
    /// How many values its batch has in the file; 1 without a batch.
    let batchCount: Int
    /// Whether it ended with its writer's connection.
    let isBound: Bool
    let hasTime: Bool
    /// The request that writes it.
    let request: [UInt8]

    init(_ line: FileLines.Line) throws(JSONFault) {
        let object = try line.object()
        let names = object.members.map(\.name)
        guard Set(names).count == names.count else {
            throw JSONFault(offset: 0, message: "a name stands twice")
        }
        guard let key = object["key"]?.string else { throw Self.missing("key", "a string") }
        guard Key.fault(Array(key.utf8).span) == nil else {
            throw JSONFault(offset: 0, message: "\"\(SystemText.ofPlain(key))\" is not a key")
        }
        guard let value = object["value"] else { throw Self.missing("value", "any JSON") }
        (self.key, isBound) = (key, object["while"] != nil)
        hasTime = object["ttl"] != nil
        revision = try Self.number(object, "revision") ?? 0
        batchCount = Int(clamping: try Self.number(object, Self.batch) ?? 1)
        guard (1...Limits.batchWritesMax).contains(batchCount) else {
            throw JSONFault(offset: 0, message: "\"\(Self.batch)\" is 1 to \(Limits.batchWritesMax)")
        }
        request =
            ObjectWriter(op: "publish").adding("key", string: key).adding("value", json: value.bytes)
            .adding("ttl", try Self.number(object, "ttl")).adding("origin", json: object["origin"]?.bytes)
            .bytes
    }

    private static func number(_ object: JSONObject, _ name: String) throws(JSONFault) -> UInt64? {
        guard let value = object[name] else { return nil }
        guard let number = value.integer else { throw missing(name, "a whole number") }
        return number
    }

    private static func missing(_ name: String, _ kind: String) -> JSONFault {
        JSONFault(offset: 0, message: "\"\(name)\" has to be there, and is \(kind)")
    }
}
