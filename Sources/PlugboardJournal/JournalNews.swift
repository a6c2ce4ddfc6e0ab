// What a journal's writer tells the broker's loop: marks that reached the disk, failures, and history
// that a client asked for. Immutable values.

/// A point in the journal: the number of commits before it.
public typealias JournalMark = UInt64

/// What the loop must react to.
public enum JournalNews: Sendable {
    /// Everything before this mark is on disk.
    case synced(JournalMark)
    /// A snapshot failed, for this reason. The segments stay, and the writer tries again later.
    case compactionFailed(String)
    /// True: the disk is full and nothing is written. False: there is room again.
    case full(Bool)
    /// Everything before this mark was written and synced, but the file is gone from its folder. `isNew` if it was
    /// there before.
    case gone(JournalMark, isNew: Bool)
    /// A sync has taken so long by now, and so many bytes wait for the disk.
    case behind(seconds: Int, bytes: Int)
    /// The file is in its folder again.
    case found
    /// History that a client asked for.
    case read(ReadPiece)
}
