// The value of a key in etcd: a JSON object that a person can read, with the bus's value in it byte for byte.
// It decides nothing.

import PlugboardClient

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

    /// Reads a value. JSON that isn't an envelope is a value that a person put there by hand. Returns nil for
    /// anything that isn't JSON.
    init?(_ bytes: [UInt8]) {
        let json: JSON
        do {
            json = try JSON(bytes: bytes)
        } catch {
            return nil
        }
        self.init(host: nil, by: nil, when: nil, id: nil, value: json)
        var (id, value): (String?, JSON?)
        var (host, by, when): (String?, String?, String?)
        for member in json.members ?? [] {
            switch member.name {
            case "host": host = member.value.string
            case "by": by = member.value.string
            case "when": when = member.value.string
            case "id": id = member.value.string
            case "value": value = member.value
            default: break
            }
        }
        guard let host, let id, let value else { return }
        self.init(host: host, by: by, when: when, id: WriteID(id), value: value)
    }
}
