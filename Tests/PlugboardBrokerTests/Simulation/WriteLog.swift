// All writes of a run in the order of their revisions, with which everything else is compared. They are
// taken from the journal, or from a witness that was told of everything.

import TestSupport

/// One write of one key.
struct Write: Equatable {
    var revision: UInt64
    var key: String
    /// The value; nil for a delete.
    var value: String?
    var by: String
    var reason = ""
    var origin = ""
    /// When it was made, as events tell it.
    var when = ""

    init(key: String, value: String?, by: String, reason: String) {
        (revision, self.key, self.value, self.by, self.reason) = (0, key, value, by, reason)
    }

    init(_ told: Told) {
        revision = told.revision ?? 0
        key = told.key
        value = told.name == "update" ? told.value : nil
        by = told.by
        reason = told.reason
        origin = told.origin
        when = told.when
    }
}

/// All writes, and those of each key. Places of a key's writes count from 1.
struct WriteLog {
    private(set) var writes: [Write]
    private(set) var keys: [String: [Write]] = [:]

    init(_ writes: [Write]) {
        self.writes = writes
        for write in writes { keys[write.key, default: []].append(write) }
    }

    /// The writes that a witness was told of as they happened.
    init(seenBy conversation: Conversation) {
        self.init(conversation.told.filter { ["update", "delete"].contains($0.name) }.map(Write.init))
    }

    /// The writes in the segments of a journal, oldest first.
    init(journal segments: [[UInt8]]) {
        var writes: [Write] = []
        for segment in segments {
            for line in segment.lines { writes += Self.writes(in: line) }
        }
        self.init(writes)
    }

    private static func writes(in line: [UInt8]) -> [Write] {
        guard let told = Told(line, time: 0) else { return [] }
        switch told.name {
        case "update", "delete": return [Write(told)]
        case "batch":
            let events = LineReading.members(of: line)?.first { $0.name == "events" }?.value ?? "[]"
            return LineReading.objects(in: Array(events.utf8.dropFirst().dropLast())).compactMap {
                guard let event = Told($0, time: 0) else { return nil }
                var write = Write(event)
                write.when = told.when
                return write
            }
        default: return []
        }
    }

    /// How many writes of a key there were up to a revision.
    func count(of key: String, upTo revision: UInt64) -> Int {
        guard let writes = keys[key] else { return 0 }
        var (low, high) = (0, writes.count)
        while low < high {
            let middle = (low + high) / 2
            if writes[middle].revision <= revision { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The place of a key's write; nil if no write of the key has this revision.
    func place(of key: String, at revision: UInt64) -> Int? {
        let count = count(of: key, upTo: revision)
        guard count > 0, keys[key]?[count - 1].revision == revision else { return nil }
        return count
    }

    /// A key's write by its place, from 1; nil before the first.
    func write(of key: String, _ place: Int) -> Write? {
        guard place > 0, let writes = keys[key], place <= writes.count else { return nil }
        return writes[place - 1]
    }

    /// Whether a key has no value after its write at `place`.
    func isAbsent(_ key: String, after place: Int) -> Bool {
        write(of: key, place)?.value == nil
    }

    /// Replaces the writes, to test the checks.
    mutating func replace(_ writes: [Write]) {
        self = WriteLog(writes)
    }
}
