// An empty file whose name says which segment is the newest. Nothing follows the newest segment, so
// without a signpost nobody would notice that it is lost. The writer renames the signpost when a segment
// has begun, before anybody hears of its records. Both names get to disk together, so a crash loses both
// or neither. The name also identifies the machine's start, because while the machine runs, a segment
// that has begun can't get lost.

import PlugboardMemory
import PlugboardPosix

/// What the name of a signpost says.
struct Signpost: Equatable {
    let segment: UInt64
    /// Whether the broker ended in order: then the segment's last line says so and is on disk.
    var isClosed = false
    /// A checksum of the machine's start during which the segment began; nil if the name lacks it.
    var boot: UInt32?

    static func mark(ofBoot boot: String) -> UInt32? {
        boot.isEmpty ? nil : boot.withBytes { Checksum.extended(0, by: $0) }
    }

    var name: String { JournalFiles.signpost(self) }
}

extension FileStore {
    /// Renames the signpost, or makes one if there is none. One that somebody has removed is made again.
    func turn(_ old: Signpost?, to new: Signpost) throws {
        if old == new { return }
        do {
            if let old { return try rename(old.name, to: new.name) }
        } catch let error as SystemError where error.code == ENOENT {}
        _ = try create(new.name)
    }
}

extension JournalWriter {
    /// Notes in the signpost that the present segment has begun, or has ended in order. If that fails,
    /// the old signpost stays, and the next turn tries again.
    func turnSignpost(isClosed: Bool = false) {
        let mark = isClosed ? nil : Signpost.mark(ofBoot: boot)
        let new = Signpost(segment: segment, isClosed: isClosed, boot: mark)
        guard (try? store.turn(signpost, to: new)) != nil else { return }
        signpost = new
        // The next sync must bring the new name to disk.
        areNamesNew = true
    }
}

// Shows that a journal is what its last broker left. An older copy of the folder, put back in its place, would
// use revisions again that clients have heard of. A copy has everything that is in the files, so what tells
// them apart is what the file system knows: each broker makes an empty file, the mark, and writes the mark's
// and the segment's own stamp into the first line of each segment. Whoever copies the folder, or writes over
// its files, makes other stamps.

extension FileStore {
    /// Makes the mark of a broker that begins with a segment. If that fails, the next broker can't know whether the
    /// folder is a copy.
    func makeMark(ofSegment first: UInt64) {
        // One may be left by a broker that didn't get to its first line.
        if hasStamps { _ = try? createAnew(JournalFiles.mark(first)) }
    }

    /// What stands in the first line of a segment, by the broker that made its mark with segment `first`; nil if one of
    /// both has no stamp.
    func mark(ofSegment segment: UInt64, since first: UInt64) -> String? {
        guard let mark = stamp(JournalFiles.mark(first)), let own = stamp(JournalFiles.segment(segment))
        else {
            return nil
        }
        return "\(first)-\(mark.node)-\(mark.changed)-\(own.node)"
    }

    /// Whether this text in a segment's first line is still true.
    func isTrue(mark text: String, ofSegment segment: UInt64) -> Bool {
        guard let first = text.split(separator: "-").first.flatMap({ UInt64($0) }) else { return false }
        return mark(ofSegment: segment, since: first) == text
    }
}

extension Journal {
    /// Has the next broker begin a new epoch: without its mark, a journal may be a copy. Throws `SystemError`.
    public static func removeMarks(_ store: any FileStore) throws {
        for name in JournalFiles(names: try store.names()).marks { try store.remove(name) }
        try store.syncNames()
    }
}
