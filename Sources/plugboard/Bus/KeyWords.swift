// The keys and patterns of a command line, and all their values at one revision. Commands for many keys
// share them.

import PlugboardWire

/// Keys and patterns, each checked.
struct KeyWords {
    /// In their order, each once.
    let words: [String]

    /// Throws a usage error for a word that is neither a key nor a pattern.
    init(_ words: [String]) throws(CommandError) {
        var known: Set<String> = []
        self.words = words.filter { known.insert($0).inserted }
        for word in self.words {
            _ = Self.isPattern(word) ? try Self.checked(word) : try ValueArgument.key(word)
        }
    }

    static func isPattern(_ word: String) -> Bool { word.utf8.contains(UInt8(ascii: "*")) }

    /// The words that are keys.
    var plain: [String] { words.filter { !Self.isPattern($0) } }

    /// The key if there is only one, and no pattern.
    var single: String? { words.count == 1 ? plain.first : nil }

    /// In the words of a broker.
    private static func checked(_ pattern: String) throws(CommandError) -> String {
        _ = try ObjectWriter(op: "keys").adding("key", string: pattern).checked()
        return pattern
    }
}

extension ObjectWriter {
    /// A subscription whose events say when they were written, if that is wanted and the broker can.
    func timed(_ isTimed: Bool, _ connection: BrokerConnection) -> ObjectWriter {
        adding("when", isTimed && connection.offers("when"), unless: false)
    }
}

/// The values of keys as they were when all of them had come.
struct Snapshot {
    /// The last `update` of each key.
    private(set) var lines: [String: BrokerLine] = [:]

    private var bar: ProgressBar
    /// The highest revision of an event.
    private var newest: UInt64 = 0

    /// Asks for at most `Limits.patternsMax` words at a time, and with `isTimed` for the time of each value.
    init(
        of words: [String],
        from connection: BrokerConnection,
        isTimed: Bool = false,
        showingProgressOf console: CommandConsole
    ) throws {
        bar = ProgressBar(total: nil, counting: "keys", on: console.messages)
        defer { bar.clear() }
        for first in stride(from: 0, to: words.count, by: Limits.patternsMax) {
            let part = Array(words[first...].prefix(Limits.patternsMax))
            let request = try ObjectWriter(op: "subscribe").adding("keys", strings: part).checked()
            try connection.send(request.timed(isTimed, connection).line(id: 1))
            _ = try take(from: connection, until: .event("synced"))
        }
        guard words.count > Limits.patternsMax else { return }
        // While the last words came, the keys of the first ones changed further. All are as they were at one
        // revision when the broker has told everything up to it and, to a reader that is behind, nothing newer.
        var revision: UInt64
        repeat {
            try connection.send(ObjectWriter(op: "sync").line(id: 1))
            revision = try take(from: connection, until: .ok("sync"))["revision"]?.integer ?? .max
        } while newest > revision
    }

    /// Takes lines until that one comes.
    private mutating func take(from connection: BrokerConnection, until end: BrokerLine.Kind) throws
        -> BrokerLine
    {
        while true {
            let line = try connection.nextLine()
            if let refusal = line.refusal { throw refusal }
            if line.kind == end { return line }
            guard let key = line["key"]?.string else { continue }
            if line.kind == .event("update") { lines[key] = line }
            if line.kind == .event("delete") { lines[key] = nil }
            newest = max(newest, line["revision"]?.integer ?? 0)
            bar.update(done: lines.count, count: lines.count)
        }
    }
}
