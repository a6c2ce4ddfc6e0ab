// Reads one file of a journal line by line and checks every checksum. It never changes the file. Each
// checksum includes that of the line before, so a line that is lost or moved is detected.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// The result of a step.
enum LogStep {
    /// A record as it was written: the reader's `record`. Its `line` has the bytes.
    case record
    /// Lines that aren't as they were written.
    case damage(Damage)
    case end
}

/// A line that isn't as it was written.
struct Damage {
    let place: JournalPlace
    /// What is wrong, for a person.
    let what: String
    /// Whether this may be a write that was under way when the machine stopped: the end of the line is
    /// missing, or it has a run of zeros.
    var isUnwritten = false

    var error: JournalError { .damaged(place, what) }
}

/// Reads one file. Only one thread uses it.
struct LogReader: ~Copyable {
    let name: String
    private let file: any ReadableFile
    private var window = ByteBuffer()
    private var searched = 0
    /// The bytes of `line` with its line feed, at the beginning of `window`.
    private var shown = 0
    /// The offset of `window` in the file.
    private(set) var offset = 0
    private(set) var lineNumber = 1
    /// The checksum of the last valid line.
    private(set) var chain: UInt32 = 0
    private var hasAllRead = false
    /// The end of what was written, as far as it is known: the offset after the last line that isn't empty.
    private(set) var writtenBytes = 0
    /// The checksum that the last line contains; nil if it has none.
    private var said: UInt32? = 0
    /// Whether the last line was damaged.
    private var isDamaged = false
    /// Whether the file is a snapshot, which has an end, and the last record was that end.
    private let isSnapshot: Bool
    private var isEnded = false
    /// The time of a snapshot. Older brokers left out that of a value from a batch.
    private var began: UInt64 = 0
    /// The record of the last step. It stays here, because a copy of each takes longer than its checksum.
    private(set) var record = RecordLine()

    /// Bytes to read at a time.
    private let readBytes: Int

    /// Reads from `start` on, after a line with the checksum that comes with it. Line numbers begin there.
    init(
        _ name: String, in store: any FileStore, from start: (offset: Int, chain: UInt32) = (0, 0),
        readBytes: Int = JournalLimits.lineReadBytes
    ) throws {
        self.name = name
        file = try store.open(name)
        self.readBytes = min(readBytes, max(file.bytes, 1))
        isSnapshot = JournalFiles.isSnapshot(name)
        (offset, chain, said) = (start.offset, start.chain, start.chain)
    }

    var fileBytes: Int { file.bytes }

    /// The place of `line`; before the first step, the place of the first line.
    var place: JournalPlace { JournalPlace(file: name, offset: offset, line: lineNumber) }

    /// The line of the last step, without its line feed.
    var line: Span<UInt8> {
        @_lifetime(borrow self)
        get { window.bytes[..<max(0, shown - 1)] }
    }

    /// Moves to the next record. Nobody else decides what a line that can't be read means. Whoever goes on after
    /// damage gets to the next line whose checksum continues that of the line before it: what lies between is one
    /// damage. Throws `JournalError.unknownVersion` and `SystemError`.
    mutating func next() throws -> LogStep {
        while true {
            let step = try nextLine()
            let wasDamaged = isDamaged
            isDamaged = if case .damage = step { true } else { false }
            if !wasDamaged || !isDamaged { return step }
        }
    }

    /// Moves to the next record of a file that must not be damaged here. Returns false at the end. Throws
    /// `JournalError.damaged`.
    mutating func nextRecord() throws -> Bool {
        switch try next() {
        case .record: return true
        case .damage(let damage): throw damage.error
        case .end: return false
        }
    }

    /// The last record is not what it should be.
    func damage(_ what: String) -> Damage { Damage(place: place, what: what) }

    /// Passes the writes of the last record to `take`. Throws `JournalError.damaged` if its batch can't be read.
    func forEachWrite(_ take: RecordTaker) throws {
        if !record.forEachWrite(of: line, take) { throw damage("the batch can't be read").error }
    }

    /// Reads files, in this order, and passes each record to `take`, which returns false if it is a batch that can't be
    /// read. Damage is passed to `skip`, which throws if it may not be skipped; so is a file that can't be opened.
    static func read(
        _ names: [String],
        in store: any FileStore,
        skip: (Damage) throws -> Void,
        _ take: (borrowing LogReader) throws -> Bool
    ) throws {
        for name in names {
            var reader: LogReader
            do {
                reader = try LogReader(name, in: store)
            } catch let error as SystemError {
                let place = JournalPlace(file: name, offset: 0, line: 1)
                try skip(Damage(place: place, what: "it can't be opened: \(error.reason)"))
                continue
            }
            reading: while true {
                switch try reader.next() {
                case .end: break reading
                case .damage(let damage): try skip(damage)
                case .record: if try !take(reader) { try skip(reader.damage("the batch can't be read")) }
                }
            }
        }
    }

    /// The checksum that the last line of a file has; nil if it has none.
    static func end(of name: String, in store: any FileStore) throws -> UInt32? {
        var reader = try LogReader(name, in: store)
        while true { if case .end = try reader.next() { return reader.said } }
    }

    private mutating func nextLine() throws -> LogStep {
        pass(shown, lines: shown > 0 ? 1 : 0)
        shown = 0
        guard let feed = try nextFeed() else { return atEnd() }
        if feed == 0 { return try passRoom() }
        shown = feed + 1
        writtenBytes = offset + shown
        let before = said
        said = RecordEnd.checksum(of: line)
        guard let said, let before, Self.follows(line, before, said) else {
            let what = said == nil ? "there is no checksum at the end of the line" : "the checksum is wrong"
            let isUnwritten = try Self.hasHole(line) || isRoom(at: feed + 1)
            return .damage(Damage(place: place, what: what, isUnwritten: isUnwritten))
        }
        chain = said
        guard Self.read(&record, window, feed) else { return .damage(damage("the line is no record")) }
        if record.kind == .segment || record.kind == .snapshot, record.version != FileHeader.version {
            throw JournalError.unknownVersion(place)
        }
        if isEnded { return .damage(damage("there is something after the end")) }
        record.isOfSnapshot = isSnapshot
        if record.when == 0 { record.when = began } else if record.kind == .snapshot { began = record.when }
        isEnded = isSnapshot && record.kind == .synced
        return .record
    }

    /// At the end of the file, unless its last line has no end.
    private mutating func atEnd() -> LogStep {
        if window.isEmpty {
            if !isSnapshot || isEnded { return .end }
            isEnded = true
            return .damage(damage("the end is missing"))
        }
        shown = window.count
        said = nil
        writtenBytes = offset + shown
        return .damage(Damage(place: place, what: "the last line has no end", isUnwritten: hasAllRead))
    }

    /// Laid-out room consists of empty lines, so an empty line is the end. If something follows, the
    /// machine stopped while that was written, and something before it is missing.
    private mutating func passRoom() throws -> LogStep {
        let end = place
        while true {
            let count = emptyLines
            pass(count, lines: count)
            if !window.isEmpty {
                return .damage(
                    Damage(place: end, what: "there is something after the end", isUnwritten: true)
                )
            }
            guard try read() else { return atEnd() }
        }
    }

    /// The number of empty lines at the beginning of the window.
    private var emptyLines: Int {
        let bytes = window.bytes
        var count = 0
        while count < bytes.count, bytes[count] == 0x0A { count += 1 }
        return count
    }

    private mutating func pass(_ bytes: Int, lines: Int) {
        window.removeFirst(bytes)
        offset += bytes
        lineNumber += lines
        searched = 0
    }

    /// Whether there is an empty line at `index` in the window. A record never contains one.
    private mutating func isRoom(at index: Int) throws -> Bool {
        while window.count <= index { guard try read() else { return false } }
        return window.bytes[index] == 0x0A
    }

    private static func read(_ record: inout RecordLine, _ window: borrowing ByteBuffer, _ count: Int) -> Bool
    {
        record.read(window.bytes[..<count])
    }

    private static func follows(_ line: Span<UInt8>, _ chain: UInt32, _ said: UInt32) -> Bool {
        let body = line[..<(line.count - RecordEnd.bytes)]
        return Checksum.extended(chain, by: body) == said
    }

    /// Whether part of the line was never written. After a lost write, file systems show a run of zeros.
    private static func hasHole(_ line: Span<UInt8>) -> Bool {
        var zeros = 0
        for index in line.indices {
            zeros = line[index] == 0 ? zeros + 1 : 0
            if zeros >= holeBytesMin { return true }
        }
        return false
    }

    /// Shorter than any record, but longer than any run of zeros from single wrong bits.
    private static let holeBytesMin = 32

    private mutating func nextFeed() throws -> Int? {
        while true {
            if let feed = LineFramer.lineFeed(in: window.bytes, from: searched) { return feed }
            searched = window.count
            guard window.count <= JournalLimits.recordBytesMax, try read() else { return nil }
        }
    }

    /// Returns false at the end of the file.
    private mutating func read() throws -> Bool {
        if hasAllRead { return false }
        let before = window.count
        try window.append(upTo: readBytes) { room in try file.read(at: offset + before, into: &room) }
        hasAllRead = window.count == before
        return !hasAllRead
    }
}
