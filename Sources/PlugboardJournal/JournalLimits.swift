// Every limit of the journal, in one place.

/// The journal's limits.
public enum JournalLimits {
    /// Bytes of one record, with its line feed: a batch of patches is the longest there can be.
    public static let recordBytesMax = 16_777_216
    /// Bytes past which a segment is closed and the next one begun.
    public static let segmentBytesMax = 67_108_864
    /// Bytes of room that are kept reserved behind the end of a segment, so that a full disk
    /// shows before a write is promised and not after: the more, the longer the segment.
    static let reservedBytesMin = 1_048_576
    static let reservedBytesMax = 8_388_608
    /// Bytes of room below which writes are refused, so that what the broker itself has to
    /// write still finds its place.
    static let roomBytesMin = 65_536
    /// Bytes of ended segments past which they are put together to a snapshot; past twice the
    /// size of the last snapshot, where that is more.
    public static let looseBytesMax = 33_554_432
    /// Ended segments past which the same is done, however small they are.
    public static let looseSegmentsMax = 64
    /// Bytes of ended segments that are kept for who comes back, unless another number is given.
    public static let historyBytesDefault = 67_108_864
    /// Replies waiting for a sync, up to which a quick disk is waited for in place.
    public static let inPlaceMax = 64
    /// A sync that takes no longer is quick.
    static let quickSyncNanoseconds: UInt64 = 1_000_000
    /// Syncs that must have been quick, one after the other, before one is waited for.
    static let quickSyncsMin = 16
    /// Bytes read from a file at a time.
    static let readBytes = 1_048_576
}
