// What the clients of a simulation asked and what they were told, in the order in which it happened. The
// checks work on this.

import PlugboardMemory
import PlugboardWire
import TestSupport

/// A request and its result. Moments are numbers that count everything that happens.
struct Asked {
    let wish: Wish
    let begun: Int
    var ended: Int?
    /// The line of the reply.
    var reply: Told?
    /// Whether the reply may come later than those of later requests, because it waits for the disk or a
    /// server.
    var isLate = false
    /// Who wrote it first, if it says so.
    var origin = ""
    /// The simulated time in nanoseconds, and the policy that was in force then.
    var begunAt: UInt64 = 0
    var policy = 0
}

/// One line from the broker.
struct Told {
    enum Kind { case done, refused, event }
    var kind: Kind
    /// The text of `ok`, `error` or `event`.
    var name: String
    var time: Int
    var id: Int?
    var sub = ""
    var key = ""
    var revision: UInt64?
    var value = ""
    var by = ""
    var origin = ""
    /// When the write was made; empty if it isn't told.
    var when = ""
    var old: String?
    var epoch = ""
    var reason = ""
    var skipped: UInt64 = 0
    var isInitial = false
    var isResumed: Bool?
    /// Parts of a value, parts that are gone, and a patch, if they come in place of the value.
    var parts: [String: String]?
    var gone: [String] = []
    var patch: String?
    /// The number of a call.
    var call = ""
    var text: String
    /// The simulated time, in nanoseconds, at which it was read.
    var at: UInt64 = 0
    /// The policy in force when its first byte was sent.
    var policy = 0
}

/// What happened on one connection.
final class Conversation {
    let client: String
    /// The life of the broker in which the connection was made.
    let life: Int
    var asked: [Asked] = []
    var told: [Told] = []
    /// When the connection ended; nil if it hasn't.
    var ended: Int?
    /// The first moment after which the broker may notice that the client is gone.
    var leftAt: Int?
    /// The policy that was in force when the connection ended.
    var lastPolicy = 0
    /// The client's user.
    let user: UInt32

    init(client: String, life: Int, user: UInt32) {
        self.client = client
        self.life = life
        self.user = user
    }

    func copy() -> Conversation {
        let copy = Conversation(client: client, life: life, user: user)
        (copy.asked, copy.told, copy.ended) = (asked, told, ended)
        (copy.leftAt, copy.lastPolicy) = (leftAt, lastPolicy)
        return copy
    }

    /// The request after which nothing was asked.
    var goodbye: Asked? {
        guard let last = asked.last, case .goodbye = last.wish else { return nil }
        return last
    }

    /// Notes that the client may be gone from this moment on.
    func noteLeft(at moment: Int) {
        leftAt = min(leftAt ?? .max, moment)
    }
}

extension Told {
    /// Reads a line. Nil for anything else.
    init?(_ line: [UInt8], time: Int) {
        guard let members = (try? JSONNode(line))?.members, let first = members.first else { return nil }
        switch first.name {
        case "ok": kind = .done
        case "error": kind = .refused
        case "event": kind = .event
        default: return nil
        }
        // All clients sort lines by these members: exactly one of them is there, and it comes first.
        guard !members.dropFirst().contains(where: { ["ok", "error", "event"].contains($0.name) }) else {
            return nil
        }
        name = first.value.string ?? ""
        self.time = time
        text = String(decoding: line.prefix(300), as: UTF8.self)
        for member in members.dropFirst() {
            let (node, string) = (member.value, member.value.string ?? "")
            switch member.name {
            case "id": id = node.integer
            case "sub": sub = string
            case "key": key = string
            // In `explain` it is the revision that a write would have, and no write has it.
            case "revision": revision = name == "explain" ? nil : UInt64(node.text)
            case "value": value = node.text
            case "old": old = node.text
            case "by": by = string
            case "origin": origin = string
            case "when": when = UInt64(node.text).map(Self.time) ?? string
            case "epoch": epoch = string
            case "reason": reason = string
            case "skipped": skipped = UInt64(node.text) ?? 0
            case "initial": isInitial = node.text == "true"
            case "resumed": isResumed = node.text == "true"
            case "fields": parts = node.parts
            case "gone": gone = (node.elements ?? []).compactMap(\.string)
            case "patch": patch = node.text
            case "call": call = string
            default: break
            }
        }
    }

    /// A record's time, as an event tells it.
    private static func time(_ milliseconds: UInt64) -> String {
        var buffer = ByteBuffer()
        buffer.append(seconds: milliseconds / 1_000)
        return String(buffer.bytes)
    }
}

extension JSONNode {
    /// The members as they are spelled, by name; empty for anything that isn't an object.
    var parts: [String: String] {
        Dictionary((members ?? []).map { ($0.name, $0.value.text) }, uniquingKeysWith: { $1 })
    }

    /// Those of a text.
    static func parts(of text: String) -> [String: String] { (try? JSONNode(text))?.parts ?? [:] }
}
