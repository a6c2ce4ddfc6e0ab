// What the clients of a simulation asked and what they were told, in the order in which it happened. The
// checks work on this.

import PlugboardMemory
import PlugboardWire

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
    /// Reads a line: an object whose strings have no escapes. Nil for anything else.
    init?(_ line: [UInt8], time: Int) {
        guard let members = LineReading.members(of: line), let first = members.first else { return nil }
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
        name = first.value.unquoted
        self.time = time
        text = String(decoding: line.prefix(300), as: UTF8.self)
        for member in members.dropFirst() {
            switch member.name {
            case "id": id = Int(member.value)
            case "sub": sub = member.value.unquoted
            case "key": key = member.value.unquoted
            // In `explain` it is the revision that a write would have, and no write has it.
            case "revision": revision = name == "explain" ? nil : UInt64(member.value)
            case "value": value = String(member.value)
            case "old": old = member.value
            case "by": by = member.value.unquoted
            case "origin": origin = member.value.unquoted
            case "when": when = UInt64(member.value).map(Self.time) ?? member.value.unquoted
            case "epoch": epoch = member.value.unquoted
            case "reason": reason = member.value.unquoted
            case "skipped": skipped = UInt64(member.value) ?? 0
            case "initial": isInitial = member.value == "true"
            case "resumed": isResumed = member.value == "true"
            case "fields": parts = LineReading.dictionary(member.value)
            case "gone":
                gone = LineReading.objects(in: Array(member.value.utf8.dropFirst().dropLast())).map {
                    String(decoding: $0, as: UTF8.self).unquoted
                }
            case "patch": patch = member.value
            case "call": call = member.value.unquoted
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

extension String {
    /// The characters of a string without escapes.
    var unquoted: String { first == "\"" ? String(dropFirst().dropLast()) : self }
}

/// Reads the outermost members of an object. The tests' own code does that, because the broker's is what is tested.
enum LineReading {
    static func members(of line: [UInt8]) -> [(name: String, value: String)]? {
        guard line.first == UInt8(ascii: "{"), line.last == UInt8(ascii: "}") else { return nil }
        var found: [(name: String, value: String)] = []
        var place = 1
        while place < line.count - 1 {
            guard let nameEnd = end(of: line.span, from: place), line[nameEnd] == UInt8(ascii: ":"),
                let valueEnd = end(of: line.span, from: nameEnd + 1)
            else { return nil }
            let name = String(decoding: line[(place + 1)..<(nameEnd - 1)], as: UTF8.self)
            found.append((name, String(decoding: line[(nameEnd + 1)..<valueEnd], as: UTF8.self)))
            place = valueEnd + 1
        }
        return found
    }

    /// The members of an object by name; empty for anything else.
    static func dictionary(_ text: String) -> [String: String] {
        Dictionary(
            (members(of: Array(text.utf8)) ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }
        )
    }

    /// The objects in an array. `list` is the array without its brackets.
    static func objects(in list: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var place = 0
        while place < list.count {
            let end = end(of: list.span, from: place) ?? list.count
            found.append(Array(list[place..<end]))
            place = end + 1
        }
        return found
    }

    /// The offset of what comes after a value. Compares with numbers, because a debug build calls a function for
    /// each `UInt8(ascii:)`.
    private static func end(of bytes: Span<UInt8>, from start: Int) -> Int? {
        let (quote, backslash) = (0x22 as UInt8, 0x5C as UInt8)
        let count = bytes.count
        var place = start
        var depth = 0
        while place < count {
            switch bytes[place] {
            case quote:
                place += 1
                while place < count {
                    let byte = bytes[place]
                    if byte == quote { break }
                    place += byte == backslash ? 2 : 1
                }
            case 0x7B, 0x5B: depth += 1  // { [
            case 0x7D, 0x5D:  // } ]
                if depth == 0 { return place }
                depth -= 1
            case 0x2C, 0x3A: if depth == 0 { return place }  // , :
            default: break
            }
            place += 1
        }
        return nil
    }
}
