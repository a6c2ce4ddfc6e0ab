// The last lines that a child printed, for later questions, each with its time, and where its runs began. It
// has at most a number of lines and a number of bytes. Entries are numbered, so that a reader can ask for
// what came after the last one that it has. The log of the next `up` goes on with higher numbers, so that the
// reader doesn't take its entries for those that it has.

import PlugboardWire

/// The last output of a child.
struct PluginLog {
    static let linesMax = 200
    static let bytesMax = 65_536

    /// A line, or the beginning of a run.
    struct Entry: Equatable {
        /// Counts from the log's beginning without gaps.
        let number: UInt64
        /// Milliseconds since 1970.
        let milliseconds: UInt64
        let content: Content
    }

    enum Content: Equatable {
        case line(String)
        /// Which run it was, from 1.
        case start(run: Int, pid: Int32?)
    }

    /// The entries, the oldest first.
    private(set) var entries: [Entry] = []
    /// The number before the first entry, and that of the last one.
    private let start: UInt64
    private var count: UInt64
    private var bytes = 0
    private var linesKept = 0

    /// Begins with the number after this one.
    init(after start: UInt64 = 0) {
        (self.start, count) = (start, start)
    }

    /// Begins at this time, with a number that no log reached before that.
    init(atMilliseconds milliseconds: UInt64) {
        self.init(after: milliseconds * 1_000)
    }

    /// The lines alone.
    var lines: [String] { entries.compactMap(\.content.line) }

    mutating func append(_ new: [String], at milliseconds: UInt64 = 0) {
        for line in new { add(.line(line), milliseconds) }
        drop()
    }

    /// Notes that the child has been started.
    mutating func begin(run: Int, pid: Int32?, at milliseconds: UInt64) {
        add(.start(run: run, pid: pid), milliseconds)
        drop()
    }

    /// `{"next":…,"entries":[…]}`: the entries after that number, and the number of the last one. `missing` says
    /// how many of them are gone, unless the reader has nothing yet: then it misses nothing.
    func json(after number: UInt64) -> [UInt8] {
        // Any other number is of another log.
        let known = (start...count).contains(number) ? number : start
        let news = entries.filter { $0.number > known }
        let dropped = count - UInt64(entries.count)
        let missing = number > 0 && dropped > known ? dropped - known : nil
        return ObjectWriter().adding("next", count).adding("missing", missing)
            .adding("entries", json: ObjectWriter.array(news.map(\.json))).bytes
    }

    private mutating func add(_ content: Content, _ milliseconds: UInt64) {
        count += 1
        bytes += content.bytes
        linesKept += content.line == nil ? 0 : 1
        entries.append(Entry(number: count, milliseconds: milliseconds, content: content))
    }

    private mutating func drop() {
        var dropped = 0
        // A child that prints nothing may begin many times.
        while linesKept > Self.linesMax || bytes > Self.bytesMax
            || entries.count - dropped > 2 * Self.linesMax
        {
            let content = entries[dropped].content
            bytes -= content.bytes
            linesKept -= content.line == nil ? 0 : 1
            dropped += 1
        }
        entries.removeFirst(dropped)
    }
}

extension PluginLog.Content {
    /// Nil for the beginning of a run.
    var line: String? {
        if case .line(let text) = self { text } else { nil }
    }

    fileprivate var bytes: Int { line?.utf8.count ?? 0 }
}

extension PluginLog.Entry {
    /// `{"at":…,"line":…}` or `{"at":…,"run":…,"pid":…}`.
    var json: [UInt8] {
        let object = ObjectWriter().adding("at", string: UTCTime.text(milliseconds))
        switch content {
        case .line(let text): return object.adding("line", string: text).bytes
        case .start(let run, let pid): return object.adding("run", run).adding("pid", pid).bytes
        }
    }
}
