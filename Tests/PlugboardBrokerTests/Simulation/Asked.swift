// What the clients of a simulation asked and what they were told, in the order in which
// everything happened: the material that the checks work on.

import PlugboardWire

/// What a client wants of the broker.
enum Wish {
    /// What a value ends with: its connection, or its time in milliseconds.
    enum Bond: Equatable {
        case connection
        case time(Int)
    }

    case hello
    /// `condition` is what `if` names.
    case publish(key: String, value: String, condition: UInt64?)
    /// A value that ends by itself.
    case bind(key: String, value: String, Bond)
    case patch(key: String, value: String)
    case delete(key: String, condition: UInt64?)
    case batch([(key: String, value: String)])
    case emit(key: String, value: String)
    case get(key: String)
    case subscribe(SubscriptionPlan)
    case unsubscribe(String)
    case pause(String)
    case resume(String)
    case step(String)
    case acknowledge(String, UInt64)
    case sync

    /// Keys that it writes.
    var writes: [(key: String, value: String?)] {
        switch self {
        case .publish(let key, let value, _), .patch(let key, let value), .bind(let key, let value, _):
            [(key, value)]
        case .delete(let key, _): [(key, nil)]
        case .batch(let writes): writes.map { ($0.key, $0.value) }
        default: []
        }
    }

    /// As a line, without its end.
    func line(id: Int, _ options: String) -> String {
        let rest = #","id":\#(id)\#(options)}"#
        func named(_ operation: String, _ fields: String) -> String {
            #"{"op":"\#(operation)"\#(fields)\#(rest)"#
        }
        func conditional(_ condition: UInt64?) -> String { condition.map { #","if":\#($0)"# } ?? "" }
        return switch self {
        case .hello: named("hello", "")
        case .publish(let key, let value, let condition):
            named("publish", #","key":"\#(key)","value":\#(value)\#(conditional(condition))"#)
        case .bind(let key, let value, .connection):
            named("publish", #","key":"\#(key)","value":\#(value),"while":"connected""#)
        case .bind(let key, let value, .time(let milliseconds)):
            named("publish", #","key":"\#(key)","value":\#(value),"ttl":\#(milliseconds)"#)
        case .patch(let key, let value): named("patch", #","key":"\#(key)","value":\#(value)"#)
        case .delete(let key, let condition): named("delete", #","key":"\#(key)"\#(conditional(condition))"#)
        case .batch(let writes):
            named(
                "batch",
                #","writes":[\#(writes.map { #"{"op":"publish","key":"\#($0.key)","value":\#($0.value)}"# }.joined(separator: ","))]"#
            )
        case .emit(let key, let value): named("emit", #","key":"\#(key)","value":\#(value)"#)
        case .get(let key): named("get", #","key":"\#(key)""#)
        case .subscribe(let plan): named("subscribe", plan.fields)
        case .unsubscribe(let sub): named("unsubscribe", #","sub":"\#(sub)""#)
        case .pause(let sub): named("pause", #","sub":"\#(sub)""#)
        case .resume(let sub): named("resume", #","sub":"\#(sub)""#)
        case .step(let sub): named("step", #","sub":"\#(sub)""#)
        case .acknowledge(let sub, let revision): named("ack", #","sub":"\#(sub)","revision":\#(revision)"#)
        case .sync: named("sync", "")
        }
    }
}

/// How a client wants to be told.
struct SubscriptionPlan {
    var sub: String
    var patterns: [String]
    var isInitial = true
    var isAll = false
    var hasOld = false
    var every = 0
    var phase = 5
    var acknowledges = false
    /// A revision up to which everything is known, and its epoch.
    var since: (revision: UInt64, epoch: String)?

    var fields: String {
        var text = #","sub":"\#(sub)","keys":[\#(patterns.map { "\"\($0)\"" }.joined(separator: ","))]"#
        if !isInitial { text += #","initial":false"# }
        if hasOld { text += #","old":true"# }
        if isAll { text += #","delivery":"all""# }
        if every > 0 { text += #","every":\#(every)"# }
        if phase != 5 { text += #","phase":\#(phase)"# }
        if acknowledges { text += #","ack":true"# }
        if let since { text += #","since":\#(since.revision),"epoch":"\#(since.epoch)""# }
        return text
    }

    func matches(_ key: String) -> Bool {
        var key = key
        return key.withUTF8 { key in
            patterns.contains { pattern in
                var pattern = pattern
                return pattern.withUTF8 {
                    Pattern.matches(UnsafeRawBufferPointer($0), UnsafeRawBufferPointer(key))
                }
            }
        }
    }
}

/// A request and what came of it. Times count everything that happens.
struct Asked {
    let wish: Wish
    let begun: Int
    var ended: Int?
    /// The line of the reply.
    var reply: Told?
    /// The reply waits for the disk, and not for its turn.
    var isDurable = false
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
    var text: String
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

    init(client: String, life: Int) {
        self.client = client
        self.life = life
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
        name = first.value.unquoted
        self.time = time
        text = String(decoding: line.prefix(300), as: UTF8.self)
        for member in members.dropFirst() {
            switch member.name {
            case "id": id = Int(member.value)
            case "sub": sub = member.value.unquoted
            case "key": key = member.value.unquoted
            case "revision": revision = UInt64(member.value)
            case "value": value = String(member.value)
            case "old": old = member.value
            case "by": by = member.value.unquoted
            case "epoch": epoch = member.value.unquoted
            case "reason": reason = member.value.unquoted
            case "skipped": skipped = UInt64(member.value) ?? 0
            case "initial": isInitial = member.value == "true"
            case "resumed": isResumed = member.value == "true"
            default: break
            }
        }
    }
}

extension String {
    fileprivate var unquoted: String { first == "\"" ? String(dropFirst().dropLast()) : self }
}

/// The outermost members of an object.
enum LineReading {
    static func members(of line: [UInt8]) -> [(name: String, value: String)]? {
        line.withUnsafeBufferPointer { bytes in
            guard bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") else { return nil }
            var found: [(name: String, value: String)] = []
            var place = 1
            while place < bytes.count - 1 {
                guard let nameEnd = end(of: bytes, from: place), bytes[nameEnd] == UInt8(ascii: ":"),
                    let valueEnd = end(of: bytes, from: nameEnd + 1)
                else { return nil }
                let name = String(decoding: bytes[(place + 1)..<(nameEnd - 1)], as: UTF8.self)
                found.append((name, String(decoding: bytes[(nameEnd + 1)..<valueEnd], as: UTF8.self)))
                place = valueEnd + 1
            }
            return found
        }
    }

    /// The objects of an array, given without its brackets.
    static func objects(in list: [UInt8]) -> [[UInt8]] {
        list.withUnsafeBufferPointer { bytes in
            var found: [[UInt8]] = []
            var place = 0
            while place < bytes.count {
                let end = end(of: bytes, from: place) ?? bytes.count
                found.append(Array(bytes[place..<end]))
                place = end + 1
            }
            return found
        }
    }

    /// Where a value ends: at what stands behind it.
    private static func end(of bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var place = start
        var depth = 0
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                place += 1
                while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
                    place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return place }
                depth -= 1
            case UInt8(ascii: ","), UInt8(ascii: ":"): if depth == 0 { return place }
            default: break
            }
            place += 1
        }
        return nil
    }
}
