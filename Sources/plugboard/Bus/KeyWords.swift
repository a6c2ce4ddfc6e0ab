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

    /// Asks for at most `Limits.patternsMax` words at a time, and with `isTimed` for the time of each value.
    init(
        of words: [String],
        from connection: BrokerConnection,
        isTimed: Bool = false,
        showingProgressOf console: CommandConsole
    ) throws {
        bar = ProgressBar(total: nil, counting: "keys", on: console.messages)
        defer { bar.clear() }
        var rest = words[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Limits.patternsMax))
            rest = rest.dropFirst(part.count)
            try add(part, connection, isTimed: isTimed)
        }
    }

    private mutating func add(_ words: [String], _ connection: BrokerConnection, isTimed: Bool) throws {
        let request = try ObjectWriter(op: "subscribe").adding("keys", strings: words).checked()
        let sub = try connection.accepted(request.timed(isTimed, connection))["sub"]
        while true {
            let line = try connection.nextLine()
            guard case .event(let event) = line.kind else { continue }
            if event == "synced" { break }
            guard let key = line["key"]?.string else { continue }
            if event == "update" { lines[key] = line } else if event == "delete" { lines[key] = nil }
            bar.update(done: lines.count, count: lines.count)
        }
        _ = try connection.accepted(ObjectWriter(op: "unsubscribe").adding("sub", json: sub?.bytes))
    }
}
