// One event as the logger writes it: as a JSON line for programs, and as a line for
// people. In the JSON line the value is complete, byte for byte. The line for people is
// cut if it is long.

import PlugboardClient
import PlugboardWire

/// An event with the time of its arrival.
struct LogLine {
    /// How many characters of a value the line for people shows.
    static let shownMax = 160
    /// How every line in the file begins.
    static let beginning = Array(#"{"time":""#.utf8)

    private let event: Event
    /// Milliseconds since 1970.
    private let time: UInt64

    init(_ event: Event, at time: UInt64) {
        self.event = event
        self.time = time
    }

    /// The line for the file. The value is as it was on the bus, byte for byte.
    var json: JSON {
        var members: [(name: String, value: JSON)] = [
            ("time", .string(UTCTime.text(time))), ("event", .string(word)),
        ]
        if !event.key.isEmpty { members.append(("key", .string(event.key))) }
        members.append(("revision", .integer(event.revision)))
        if let value = event.value { members.append(("value", value)) }
        if let by = event.by { members.append(("by", .string(by))) }
        if let reason = event.reason { members.append(("reason", .string(reason.rawValue))) }
        if let cause = event.cause { members.append(("cause", .integer(cause))) }
        if event.isInitial { members.append(("initial", .true)) }
        if event.skipped > 0 { members.append(("skipped", .integer(event.skipped))) }
        if let gap = event.gap {
            members.append(("dropped", .integer(gap.dropped)))
            members.append(("first", .integer(gap.first)))
        }
        if !event.unacknowledged.isEmpty {
            members.append(("unacked", .array(event.unacknowledged.map { .string($0) })))
        }
        if event.isMissed, event.kind != .synced { members.append(("missed", .true)) }
        // With emits of its revision that came before, nobody counts them again.
        if event.kind == .synced, let emits = event.place.emits, emits.count > 0 {
            members.append(("emitted", emits.json))
        }
        // In a snapshot, nobody could go on behind this line.
        if !event.isInitial, event.place != .beginning {
            members.append(("epoch", .string(event.place.epoch)))
        }
        return .object(members)
    }

    /// The line for the terminal, such as
    /// `12:30:00.120Z #813 update cart.summary {"items":3,"total":129.85} by price-indicator`.
    var text: String {
        var words = [
            UTCTime.timeOfDay(time), "#\(event.revision)", event.isInitial ? "initial \(word)" : word,
        ]
        if !event.key.isEmpty { words.append(event.key) }
        if let value = event.value { words.append(Self.shortened(value.text)) }
        if let by = event.by { words.append("by \(by)") }
        if let reason = event.reason { words.append("(\(reason.rawValue))") }
        if let cause = event.cause { words.append("because of #\(cause)") }
        if event.skipped > 0 { words.append("(\(event.skipped) skipped)") }
        if let gap = event.gap { words.append("\(gap.dropped) dropped, from #\(gap.first)") }
        if !event.unacknowledged.isEmpty {
            words.append("not waiting for \(event.unacknowledged.joined(separator: ", "))")
        }
        return words.joined(separator: " ")
    }

    private var word: String {
        switch event.kind {
        case .update: "update"
        case .emit: "emit"
        case .delete: "delete"
        case .leave: "leave"
        case .synced: "synced"
        case .lagged: "lagged"
        }
    }

    private static func shortened(_ text: String) -> String {
        let shown = text.prefix(shownMax)
        return shown.endIndex == text.endIndex ? text : shown + "…"
    }
}

extension Place.Emits {
    /// As the logger writes it.
    var json: JSON { .object(["revision": .integer(revision), "count": .integer(count)]) }

    /// Reads what the logger wrote.
    init?(_ json: JSON?) {
        guard let revision = json?["revision"]?.integer, let count = json?["count"]?.integer else {
            return nil
        }
        self.init(revision: revision, count: count)
    }
}
