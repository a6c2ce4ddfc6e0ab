// A line from the broker, parsed as far as commands need it.

import PlugboardMemory
import PlugboardWire

/// One of the three kinds of line that a broker writes.
struct BrokerLine: Sendable {
    enum Kind: Equatable, Sendable {
        case ok(String)
        case error(String)
        case event(String)
        /// A line that this version doesn't know.
        case unknown
    }

    /// The line as it came, without its line feed.
    let bytes: ArraySlice<UInt8>
    let object: JSONObject
    let kind: Kind

    /// Nil if the bytes are not a JSON object.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard let object = try? JSONObject(parsing: bytes) else { return nil }
        self.bytes = bytes
        self.object = object
        kind = Self.kind(of: object)
    }

    subscript(field: String) -> JSONValue? { object[field] }

    /// The error in this line as a command's error. Its message begins with the broker's code.
    var refusal: CommandError? {
        guard case .error(let code) = kind else { return nil }
        return Self.error(object, "\(code): ")
    }

    /// The error that a write would get, if this is the answer of `explain` that says so.
    var foreseenRefusal: CommandError? {
        guard let refused = object["refused"]?.object else { return nil }
        return Self.error(refused, "it would be refused: \(refused["error"]?.string ?? "refused"): ")
    }

    private static func error(_ object: JSONObject, _ start: String) -> CommandError {
        let message = SystemText.ofPlain(object["message"]?.string ?? "the broker refused")
        let hints = object["hint"]?.string.map { ["hint: \(SystemText.ofPlain($0))"] } ?? []
        return CommandError(.refused, start + message, hints: hints)
    }

    /// The same event with another `skipped`; 0 removes the member, as in the broker's lines. The search for
    /// the member can't find a string after the value, because quotes within strings are escaped.
    func replacing(skipped count: UInt64, by other: UInt64) -> BrokerLine {
        var text = String(decoding: bytes, as: UTF8.self)
        guard let place = text.ranges(of: ",\"skipped\":\(count)").last else { return self }
        text.replaceSubrange(place, with: other == 0 ? "" : ",\"skipped\":\(other)")
        return BrokerLine(Array(text.utf8)[...]) ?? self
    }

    private static func kind(of object: JSONObject) -> Kind {
        if let name = object["ok"]?.string { return .ok(name) }
        if let code = object["error"]?.string { return .error(code) }
        if let name = object["event"]?.string { return .event(name) }
        return .unknown
    }
}
