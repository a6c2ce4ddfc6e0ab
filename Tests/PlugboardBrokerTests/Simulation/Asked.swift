// What the clients of a simulation asked and what they were told, in the order in which
// everything happened: the material that the checks work on.

/// A request and what came of it. Times count everything that happens.
struct Asked {
    let wish: Wish
    let begun: Int
    var ended: Int?
    /// The line of the reply.
    var reply: Told?
    /// The reply waits for the disk or for a server, and not for its turn.
    var isLate = false
    /// The simulated time, in nanoseconds, and the policy in force by then.
    var begunAt: UInt64 = 0
    var policy = 0
}

/// One line from the broker.
struct Told {
    enum Kind { case done, refused, event }
    var kind: Kind
    /// What stands behind `ok`, `error` or `event`.
    var name: String
    var time: Int
    var id: Int?
    var sub = ""
    var key = ""
    var revision: UInt64?
    var value = ""
    var by = ""
    var old: String?
    var epoch = ""
    var reason = ""
    var skipped: UInt64 = 0
    var isInitial = false
    var isResumed: Bool?
    /// Parts of a value, those that are gone, and a patch, where these stand in for it.
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
    /// The broker's life in which it took place.
    let life: Int
    var asked: [Asked] = []
    var told: [Told] = []
    /// When it was over; nil while it isn't.
    var ended: Int?
    /// The first moment from which on the broker may take the client for gone.
    var leftAt: Int?
    /// The policy in force when it was over.
    var lastPolicy = 0
    /// The user whose it is.
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

    /// Notes that the client may be gone from a moment on.
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
        // Everybody sorts lines by this: only one of them, and it is the first.
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
            // That which a write would have is none that there is.
            case "revision": revision = name == "explain" ? nil : UInt64(member.value)
            case "value": value = String(member.value)
            case "old": old = member.value
            case "by": by = member.value.unquoted
            case "epoch": epoch = member.value.unquoted
            case "reason": reason = member.value.unquoted
            case "skipped": skipped = UInt64(member.value) ?? 0
            case "initial": isInitial = member.value == "true"
            case "resumed": isResumed = member.value == "true"
            default: takeRare(member)
            }
        }
    }

    private mutating func takeRare(_ member: (name: String, value: String)) {
        switch member.name {
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

extension String {
    /// A string's characters, where none of them is escaped.
    var unquoted: String { first == "\"" ? String(dropFirst().dropLast()) : self }
}
