// Every limit of the journal, in one place.

/// The journal's limits.
public enum JournalLimits {
    /// Bytes of one record, with its line feed: a batch of patches is the longest there can be.
    public static let recordBytesMax = 16_777_216
    /// The last number that a file may have.
    public static let fileNumberMax: UInt64 = 9_007_199_254_740_991
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
    /// Keys and bytes of a state up to which the loop itself writes it down for a snapshot: it
    /// takes less than a millisecond.
    public static let stateKeysMax = 4_096
    public static let stateBytesMax = 1_048_576
    /// Bytes of ended segments that are kept for who comes back, unless another number is given.
    public static let historyBytesDefault = 67_108_864
    /// Bytes laid out at a time where durable writes come in one by one.
    public static let laidOutBytes = 262_144
    /// A segment whose first half was filled in less is followed by one that is laid out whole: it
    /// is overwritten before the system thinks of bringing the room to disk.
    public static let fastHalfNanoseconds: UInt64 = 500_000_000
    /// So many syncs at least go by until they are used up; else it isn't worth it.
    static let syncsPerLayingOutMin = 4
    /// Replies waiting for a sync, up to which a quick disk is waited for in place.
    public static let inPlaceMax = 64
    /// A sync that takes no longer is quick.
    static let quickSyncNanoseconds: UInt64 = 1_000_000
    /// Syncs that must have been quick, one after the other, before one is waited for.
    static let quickSyncsMin = 16
    /// And how many segments at most, however small they are: a broker that is started again and
    /// again leaves one each time.
    static let historySegmentsMax = 256
    /// Bytes beyond that, which stay while somebody reads them who came back.
    static let readingBytesMax = 268_435_456
    /// Files with what a crash left of a last line: the newest are kept.
    static let tornFilesMax = 16
    /// So many times what asks for a snapshot has come together when one is made before anybody
    /// is served: none of the brokers before lived long enough to make one beside its work.
    static let overdueFactor = 4
    /// Bytes and records that are read again at a time for somebody who came back.
    static let pieceBytesMax = 262_144
    static let pieceRecordsMax = 1_024
    /// Bytes read from a file whose first line is looked at.
    static let headerReadBytes = 4_096
    /// Bytes read from a file at a time.
    static let readBytes = 1_048_576
}
