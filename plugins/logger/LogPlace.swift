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
    private var isOver = false

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
            let revision = line["revision"]?.integer, LogMark(word: word) == nil
        else { return }
        if self.revision == nil { begin(line, word, revision) }
        guard !isOver, revision == self.revision else {
            isOver = true
            return
        }
        if let key = line["key"]?.string, word != "emit" { keys.append(key) }
    }

    /// Begins with the last line. Within a snapshot, nothing is known.
    private mutating func begin(_ line: JSON, _ word: String, _ revision: Int) {
        guard let epoch = line["epoch"]?.string else {
            isOver = true
            return
        }
        (self.epoch, self.revision, endsWithSynced) = (epoch, revision, word == "synced")
    }

    private var found: Place? {
        guard let epoch, let revision else { return nil }
        if endsWithSynced, keys.isEmpty { return Place(epoch: epoch, revision: revision) }
        return Place(epoch: epoch, revision: max(revision, 1) - 1, keys: keys)
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

    /// The line for the file. The broker doesn't count emits that nobody observed.
    func json(since place: Place, time: String) -> JSON {
        .object([
            "time": .string(time), "event": .string(rawValue), "revision": .integer(Self.revision(place)),
            "epoch": .string(place.epoch), "emits": .null,
        ])
    }

    /// The line for people.
    func text(since place: Place, time: String) -> String {
        let missing = self == .gap ? "updates may be missing, and emits" : "emits in between are missing"
        return "\(time) #\(Self.revision(place)) \(rawValue) (\(missing), nobody counted them)"
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
