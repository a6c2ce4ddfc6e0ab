// Reads the broker's first line: the greeting, or a `bye` if the broker doesn't accept the client. A
// greeting must have this library's protocol number. Its other fields may be missing.

import PlugboardMemory
import PlugboardWire

extension Greeting {
    /// - Throws: why the line is no greeting, for a person.
    init(_ bytes: Span<UInt8>) throws(GreetingFault) {
        guard let line = ParsedLine(bytes) else {
            throw GreetingFault(reason: "its first line is not a JSON object")
        }
        if line.kind == .event, line.head.bytes(of: bytes).spells("bye") { throw Self.bye(line, bytes) }
        guard line.kind == .event, line.head.bytes(of: bytes).spells("hello") else {
            throw GreetingFault(reason: "its first line is not a greeting")
        }
        guard let number = bytes.integer(line.protocolNumber) else {
            throw GreetingFault(reason: "its greeting names no protocol")
        }
        guard number == ProtocolVersion.number else {
            throw GreetingFault(
                reason: "it speaks protocol \(number), this library \(ProtocolVersion.number)"
            )
        }
        protocolNumber = number
        version = bytes.text(line.version) ?? ""
        epoch = bytes.text(line.epoch) ?? ""
        revision = bytes.integer(line.revision) ?? 0
        client = bytes.integer(line.client) ?? 0
        name = bytes.text(line.name)
        limits = Self.limits(line, bytes)
        features = bytes.texts(line.features)
    }

    private static func bye(_ line: ParsedLine, _ bytes: Span<UInt8>) -> GreetingFault {
        let text = bytes.text(line.message) ?? bytes.text(line.reason) ?? ""
        return GreetingFault(reason: "it said bye: \(text)", isTransient: true)
    }

    private static func limits(_ line: ParsedLine, _ bytes: Span<UInt8>) -> [String: Int] {
        var limits: [String: Int] = [:]
        guard !line.limits.isEmpty,
            var members = JSONWalk(bytes, from: line.limits.start, opening: "{")
        else { return limits }
        // The line was parsed before, so nothing is thrown here.
        while let (name, value) = try? members.nextMember() {
            if let name = bytes.text(name) { limits[name] = bytes.integer(value) }
        }
        return limits
    }
}

/// Why a line is no greeting.
struct GreetingFault: Error {
    let reason: String
    /// Whether another attempt may succeed.
    var isTransient = false
}
