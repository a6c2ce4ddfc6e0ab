// Finds out from a log where its logger stopped. The log itself is what the logger has handled, so nothing
// else is kept: a killed logger's place is behind its last complete line. Also the marks that a logger
// writes where it goes on.

import PlugboardClient

/// The place behind a log's last event.
struct LogPlace {
    private var epoch: String?
    private var revision: Int?
    private var endsWithSynced = false
    private var keys: [String] = []
    private var hasAllKeys = false
    private var emits = LoggedEmits()
    private var isOver: Bool { hasAllKeys && emits.place != nil }

    /// The place behind the last line of the first file that has one; nil if the log doesn't say.
    static func place(in paths: [String]) throws -> Place? {
        var place = LogPlace()
        for path in paths where !place.isOver {
            guard var lines = try LinesFromEnd(path: path) else { continue }
            while !place.isOver, let line = lines.next() { place.note(line) }
        }
        return place.found
    }

    /// Notes a line, from the last one on.
    private mutating func note(_ bytes: [UInt8]) {
        // A line of another program says nothing.
        guard let line = try? JSON(bytes: bytes), let word = line["event"]?.string,
            let revision = line["revision"]?.integer
        else { return }
        if emits.place == nil { emits.note(line, word, revision) }
        if LogMark(word: word) != nil || hasAllKeys { return }
        if self.revision == nil { begin(line, word, revision) }
        guard !hasAllKeys, revision == self.revision else {
            hasAllKeys = true
            return
        }
        if let key = line["key"]?.string, word != "emit" { keys.append(key) }
    }

    /// Begins with the last line. Within a snapshot, nothing is known.
    private mutating func begin(_ line: JSON, _ word: String, _ revision: Int) {
        guard let epoch = line["epoch"]?.string else {
            hasAllKeys = true
            emits.place = Place.Emits(revision: 0, count: 0)
            return
        }
        (self.epoch, self.revision, endsWithSynced) = (epoch, revision, word == "synced")
    }

    private var found: Place? {
        guard let epoch, let revision else { return nil }
        var place = Place(epoch: epoch, revision: revision)
        if !endsWithSynced || !keys.isEmpty {
            place = Place(epoch: epoch, revision: max(revision, 1) - 1, keys: keys)
        }
        place.emits = emits.place ?? emits.counted
        return place
    }
}

/// The emits of the newest revision in a log: those that it has, and those that a mark or `synced` counts.
private struct LoggedEmits {
    /// Nil until a line has told it.
    var place: Place.Emits?
    private var newest: Int?
    private var isCatchingUp = false
    private var counts: [Int: Int] = [:]

    /// As far as the log goes back.
    var counted: Place.Emits? { newest.map { Place.Emits(revision: $0, count: counts[$0] ?? 0) } }

    /// Notes a line, from the last one on. While missed events come, the mark before them says how many emits
    /// were counted.
    mutating func note(_ line: JSON, _ word: String, _ revision: Int) {
        if let told = Place.Emits(line["emitted"]) {
            let isNewer = newest.map { $0 > told.revision } ?? false
            let count = told.count + (counts[told.revision] ?? 0)
            place = isNewer ? counted : Place.Emits(revision: told.revision, count: count)
            return
        }
        if newest == nil { (newest, isCatchingUp) = (revision, line["missed"] == .true) }
        if word == "emit" { counts[revision, default: 0] += 1 }
        if !isCatchingUp, let newest, revision < newest || word == "synced" { place = counted }
    }
}

/// A line of the logger's own: where it went on, and what is missing there.
enum LogMark: String {
    /// All updates and deletes follow that happened meanwhile.
    case resumed
    /// The broker doesn't know them any more: the current values follow.
    case gap

    init?(word: String) { self.init(rawValue: word) }

    /// The newest revision in the log.
    private static func revision(_ place: Place) -> Int { place.revision + (place.keys.isEmpty ? 0 : 1) }

    /// The line for the file. `event` is the first one behind it, which tells how many emits are missing.
    func json(since place: Place, before event: Event, time: String) -> JSON {
        var members: [(name: String, value: JSON)] = [
            ("time", .string(time)), ("event", .string(rawValue)),
            ("revision", .integer(Self.revision(place))), ("epoch", .string(place.epoch)),
            ("emits", event.missedEmits.map { .integer($0) } ?? .null),
        ]
        if let emits = event.place.emits { members.append(("emitted", emits.json)) }
        return .object(members)
    }

    /// The line for people.
    func text(since place: Place, before event: Event, time: String) -> String {
        let emits = event.missedEmits.map { "\($0) \($0 == 1 ? "emit is" : "emits are") missing" }
        let missing = (self == .gap ? "updates may be missing, " : "") + (emits ?? "emits may be missing")
        return "\(time) #\(Self.revision(place)) \(rawValue) (\(missing))"
    }
}

/// Finds the places in a log where a mark belongs.
struct LogMarks {
    /// The place behind the newest event; nil if there was none.
    private var last: Place?
    /// Whether missed events or a snapshot are under way, which `synced` ends.
    private var isCatchingUp = false

    init(since place: Place?) {
        last = place
    }

    /// The mark that belongs before this event, and the place up to which the log is complete.
    mutating func mark(before event: Event) -> (mark: LogMark, since: Place)? {
        let isBegin = event.isMissed || event.isInitial || event.kind == .synced
        defer {
            if isBegin { isCatchingUp = event.kind != .synced }
            last = event.place
        }
        guard isBegin, !isCatchingUp, let last, last != .beginning else { return nil }
        return (event.isMissed ? .resumed : .gap, last)
    }
}
