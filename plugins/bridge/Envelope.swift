// The value of a key in etcd: a JSON object that a person can read, with the bus's value in it byte for byte.
// It decides nothing.

import PlugboardClient
import PlugboardMemory
import PlugboardWire

/// Identifies one write of one bus. A write keeps its identifier across restarts.
struct WriteID: Hashable, Sendable {
    /// The bridge that made it; changes with the epoch of its bus.
    let bridge: String
    /// The revision of the write on the bus.
    let revision: Int

    var text: String { "\(bridge).\(revision)" }

    init(bridge: String, revision: Int) {
        self.bridge = bridge
        self.revision = revision
    }

    init?(_ text: String) {
        guard let dot = text.lastIndex(of: "."), let revision = Int(text[text.index(after: dot)...]) else {
            return nil
        }
        self.init(bridge: String(text[..<dot]), revision: revision)
    }
}

/// A value as etcd has it.
struct Envelope: Hashable, Sendable {
    var host: String?
    var by: String?
    /// The time of day when it was sent, for people; nothing depends on it.
    var when: String?
    var id: WriteID?
    var value: JSON

    var bytes: [UInt8] {
        var members: [(name: String, value: JSON)] = []
        for (name, text) in [("host", host), ("by", by), ("when", when), ("id", id?.text)] {
            if let text { members.append((name, .string(text))) }
        }
        members.append(("value", value))
        return JSON.object(members).bytes
    }

    init(host: String?, by: String?, when: String?, id: WriteID?, value: JSON) {
        self.host = host
        self.by = by
        self.when = when
        self.id = id
        self.value = value
    }

    /// Reads a value. JSON that isn't an envelope is a value that a person put there by hand.
    init(reading bytes: [UInt8]) throws(Obstacle) {
        let envelope = Self.members(of: bytes.span)
        // The value is checked by itself: in its envelope it is one level deeper than on the bus.
        let value = try Self.value(envelope?.value ?? bytes)
        let id = envelope?.id.flatMap { WriteID($0) }
        self.init(host: envelope?.host, by: envelope?.by, when: envelope?.when, id: id, value: value)
    }

    private static func value(_ bytes: [UInt8]) throws(Obstacle) -> JSON {
        let value: JSON
        do {
            value = try JSON(bytes: bytes)
        } catch {
            throw .json(reason: "\(error)")
        }
        if let obstacle = Obstacle(value: value) { throw obstacle }
        return value
    }

    private struct Members {
        var (host, by, when, id): (String?, String?, String?, String?)
        var value: [UInt8]?
    }

    /// The members of an envelope; nil if the text is something else.
    private static func members(of text: Span<UInt8>) -> Members? {
        var members = Members()
        do {
            try text.forEachMember { name, value in
                if name.isEqual(to: "host") { members.host = string(value) }
                if name.isEqual(to: "by") { members.by = string(value) }
                if name.isEqual(to: "when") { members.when = string(value) }
                if name.isEqual(to: "id") { members.id = string(value) }
                if name.isEqual(to: "value") { members.value = Array(value) }
            }
        } catch {
            return nil
        }
        guard let host = members.host, host.utf8.count <= BridgeLimits.hostBytesMax else { return nil }
        return members.id == nil || members.value == nil ? nil : members
    }

    private static func string(_ value: Span<UInt8>) -> String? {
        guard value.count >= 2, value.first == UInt8(ascii: "\"") else { return nil }
        return JSONText.string(value[1..<(value.count - 1)])
    }
}
