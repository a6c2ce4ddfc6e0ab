// Handles the end of a journal after a crash. Bytes that were being written to disk may be missing, or
// zero, or there only in part, even in the middle. But if a later line says that bytes were on disk, they
// must be right. Otherwise it is damage.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension LogReader {
    /// Whether a later line of this segment says that everything up to `offset` was on disk, or a line in the `later`
    /// segments: such a line means that all earlier segments are on disk. Then no crash explains damage there.
    mutating func saysSafe(upTo offset: Int, later: [UInt64], in store: any FileStore) throws -> Bool {
        if try saysSafe(upTo: UInt64(offset)) { return true }
        for number in later {
            var reader = try LogReader(JournalFiles.segment(number), in: store)
            if try reader.saysSafe(upTo: nil) { return true }
        }
        return false
    }

    private mutating func saysSafe(upTo offset: UInt64?) throws -> Bool {
        while true {
            switch try next() {
            case .end: return false
            case .damage: continue
            case .record:
                let isSynced = record.kind == .synced && offset.map { record.bytes > $0 } ?? true
                if isSynced || record.kind == .closed { return true }
            }
        }
    }
}

/// Cuts off the unusable end and keeps it for a person to look at. If it is interrupted, it can be
/// repeated.
struct TailCut {
    private let store: any FileStore

    init(_ store: any FileStore) {
        self.store = store
    }

    /// Cuts a segment at `offset` and renames the segments after it. `end` is the end of what was written
    /// to the segment; only laid-out room follows.
    func cut(_ number: UInt64, at offset: Int, writtenTo end: Int, later: [UInt64], keptAs name: String)
        throws
    {
        for number in later.reversed() {
            try store.rename(JournalFiles.segment(number), to: JournalFiles.torn(number, at: 0))
        }
        let segment = JournalFiles.segment(number)
        if offset == 0 {
            // Its first line is missing, so the segment never began.
            try store.rename(segment, to: name)
            return try store.syncNames()
        }
        try keep(segment, from: offset, to: end, as: name)
        try store.syncNames()
        try store.truncate(segment, to: offset)
    }

    private func keep(_ segment: String, from offset: Int, to end: Int, as name: String) throws {
        let unfinished = JournalFiles.unfinished(name)
        let source = try store.open(segment)
        let copy = try store.createAnew(unfinished)
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
    /// Appends all bytes. Throws `SystemError`.
    func appendAll(_ bytes: Span<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = try append(rest)
            rest = rest[count...]
        }
    }
}
