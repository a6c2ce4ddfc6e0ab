// Shows that a journal is what its last broker left. An older copy of the folder, put back in its place, would
// use revisions again that clients have heard of. A copy has everything that is in the files, so what tells
// them apart is what the file system knows: each broker makes an empty file, the mark, and writes the mark's
// and the segment's own stamp into the first line of each segment. Whoever copies the folder, or writes over
// its files, makes other stamps.

import PlugboardPosix

/// The mark of one broker.
struct FolderMark {
    /// The first segment of the broker, which names the mark.
    private let first: UInt64
    private let stamp: FileStamp

    /// Makes the mark of a broker that begins with a segment; nil if that fails. Then the next broker can't
    /// know whether the folder is a copy.
    init?(makingFor first: UInt64, in store: any FileStore) {
        guard store.hasStamps else { return nil }
        let name = JournalFiles.mark(first)
        // Left by a broker that didn't get to its first line.
        try? store.remove(name)
        guard (try? store.create(name)) != nil else { return nil }
        self.init(first, in: store)
    }

    private init?(_ first: UInt64, in store: any FileStore) {
        guard let stamp = store.stamp(JournalFiles.mark(first)) else { return nil }
        self.first = first
        self.stamp = stamp
    }

    /// What stands in the first line of a segment; nil if the segment has no stamp.
    func text(ofSegment segment: UInt64, in store: any FileStore) -> String? {
        guard let own = store.stamp(JournalFiles.segment(segment)) else { return nil }
        return "\(first)-\(stamp.node)-\(stamp.changed)-\(own.node)"
    }

    /// Whether this text in a segment's first line is still true.
    static func isTrue(_ text: String, ofSegment segment: UInt64, in store: any FileStore) -> Bool {
        guard let first = text.split(separator: "-").first.flatMap({ UInt64($0) }) else { return false }
        return FolderMark(first, in: store)?.text(ofSegment: segment, in: store) == text
    }
}

extension Journal {
    /// Has the next broker begin a new epoch: without its mark, a journal may be a copy. Throws `SystemError`.
    public static func removeMarks(_ store: any FileStore) throws {
        for name in JournalFiles(names: try store.names()).marks { try store.remove(name) }
        try store.syncNames()
    }
}
