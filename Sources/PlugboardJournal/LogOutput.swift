// Writes a whole file of a journal, from its first line to its last: a snapshot, or the segment of a hand-over.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Writes lines to a file. The first one says which file it is.
struct LogOutput: ~Copyable {
    private let file: any AppendableFile
    private var lines: RecordBuffer
    private var bytes = 0
    private var syncedBytes = 0
    private let isSynced: Bool
    private var isInBatch = false

    /// `clock` gives the time of the lines, in milliseconds since 1970. If `isSynced`, the file is on disk when
    /// `finish` returns.
    init(
        _ file: any AppendableFile, _ header: FileHeader, isSynced: Bool = true, clock: @escaping () -> UInt64
    ) {
        self.file = file
        self.isSynced = isSynced
        lines = RecordBuffer(clock: clock)
        lines.begin(header)
    }

    /// Adds a record without its checksum, and without its time if `when` isn't 0.
    mutating func append(_ body: Span<UInt8>, when: UInt64) throws {
        lines.append(body: body, when: when)
        if lines.count >= JournalLimits.snapshotPieceBytes { try write() }
    }

    /// Adds a line of the journal itself.
    mutating func append(own text: String) throws {
        try endBatch()
        lines.endTurn()
        lines.append(own: text)
    }

    mutating func append(_ commit: borrowing Commit) throws {
        lines.append(commit)
        if !isInBatch, lines.count >= JournalLimits.snapshotPieceBytes { try write() }
    }

    /// Ends the batch before, and puts all commits up to the next one into a batch.
    mutating func beginBatch(revision: UInt64) throws {
        try endBatch()
        lines.beginBatch(revision: revision)
        isInBatch = true
    }

    private mutating func endBatch() throws {
        guard isInBatch else { return }
        isInBatch = false
        lines.endBatch()
        if lines.count >= JournalLimits.snapshotPieceBytes { try write() }
    }

    /// Writes the last line, and returns the file's size.
    @discardableResult
    mutating func finish(_ last: String) throws -> Int {
        try append(own: last)
        try write()
        if isSynced { try file.sync() }
        return bytes
    }

    /// A long file is synced meanwhile, so that it doesn't all wait for the disk at its end.
    private mutating func write() throws {
        bytes += lines.count
        try file.appendAll(lines.bytes)
        lines.removeFirst(lines.count)
        if isSynced, bytes - syncedBytes >= JournalLimits.snapshotSyncBytes {
            try file.sync()
            syncedBytes = bytes
        }
    }

    /// The text of a snapshot with as many values as the header says. `body` must add each of them once. `when` is the
    /// time of the last record before. Nil if the state is large.
    static func text(
        _ header: FileHeader, when: UInt64, _ body: ((borrowing Commit) throws -> Void) throws -> Void
    ) -> [UInt8]? {
        guard let keys = header.keys, keys <= JournalLimits.stateKeysMax else { return nil }
        struct TooLong: Error {}
        var lines = RecordBuffer(clock: { when })
        lines.begin(header)
        let isWhole: Void? = try? body { commit in
            guard lines.count < JournalLimits.stateBytesMax else { throw TooLong() }
            lines.append(commit)
        }
        guard isWhole != nil, lines.commits == UInt64(keys), lines.count < JournalLimits.stateBytesMax
        else { return nil }
        lines.endTurn()
        lines.append(own: header.end)
        return Array(lines.bytes)
    }
}
