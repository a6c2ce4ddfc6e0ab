// Handles the end of a journal after a crash. Bytes that were on their way to the disk may
// be there in part, or as zeros, or not at all, even in the middle. Bytes that are known to
// have been on disk must be right; otherwise it isn't a crash but damage.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Looks for a later line that says that the damaged place was on disk, which a crash can't
/// explain.
struct TailSearch {
    private let store: any FileStore

    init(_ store: any FileStore) {
        self.store = store
    }

    /// Whether a later line says that the byte at `offset` of this segment, or everything before
    /// the `later` segments, was on disk.
    func wasSafe(_ reader: inout LogReader, offset: Int, later: [UInt64]) throws -> Bool {
        while try reader.nextVerifying() {
            guard let record = RecordLine(reader.line) else { continue }
            if record.kind == .closed { return true }
            if record.kind == .synced, record.bytes > UInt64(offset) { return true }
        }
        return try wasSafe(before: later)
    }

    /// A segment only says that something in it is on disk when all segments before it are.
    func wasSafe(before later: [UInt64]) throws -> Bool {
        for number in later {
            var reader = try LogReader(JournalFiles.segment(number), in: store)
            while try reader.nextVerifying() {
                let kind = RecordLine(reader.line)?.kind
                if kind == .synced || kind == .closed { return true }
            }
        }
        return false
    }
}

/// Cuts off the unusable end, and keeps it for a person to look at. It can be repeated if
/// it is interrupted at any point.
struct TailCut {
    private let store: any FileStore

    init(_ store: any FileStore) {
        self.store = store
    }

    /// Cuts a segment at `offset`, and renames the segments after it. After `end` there is nothing
    /// but room.
    func cut(
        _ number: UInt64,
        at offset: Int,
        writtenTo end: Int,
        later: [UInt64],
        keptAs name: String
    )
        throws
    {
        for number in later.reversed() {
            try store.rename(JournalFiles.segment(number), to: JournalFiles.torn(number, at: 0))
        }
        let segment = JournalFiles.segment(number)
        if offset == 0 {
            // Not even its first line is there, so the segment never began.
            try store.rename(segment, to: name)
            return try store.syncNames()
        }
        try keep(segment, from: offset, to: end, as: name)
        try store.syncNames()
        try store.truncate(segment, to: offset)
    }

    private func keep(_ segment: String, from offset: Int, to end: Int, as name: String) throws {
        let unfinished = JournalFiles.unfinished(name)
        if try store.names().contains(unfinished) { try store.remove(unfinished) }
        let source = try store.open(segment)
        let copy = try store.create(unfinished)
        var place = offset
        var chunk = ByteBuffer()
        while place < end {
            chunk.removeAll()
            let wanted = min(JournalLimits.readBytes, end - place)
            try chunk.append(upTo: wanted) { room in try source.read(at: place, into: &room) }
            if chunk.isEmpty { break }
            try copy.appendAll(chunk.bytes)
            place += chunk.count
        }
        try copy.sync()
        try store.rename(unfinished, to: name)
    }
}

extension AppendableFile {
    /// Appends all bytes, or throws.
    func appendAll(_ bytes: Span<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = try append(rest)
            rest = rest[count...]
        }
    }
}
