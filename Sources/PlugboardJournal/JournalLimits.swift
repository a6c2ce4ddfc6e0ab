// Every limit of the journal, in one place.

/// The journal's limits.
public enum JournalLimits {
    /// Bytes of one record, with its line feed: a batch of patches is the longest there can be.
    public static let recordBytesMax = 16_777_216
    /// The last number that a file may have.
    public static let fileNumberMax: UInt64 = 9_007_199_254_740_991
    /// Bytes past which a segment is closed and the next one begun: a sixteenth of the state, if that is
    /// more, up to a limit; less where the disk is small.
    public static let segmentBytes = 786_432
    static let segmentBytesMax = 268_435_456
    static let segmentsPerState = 16
    static let smallSegmentBytesMin = 65_536
    /// The least part of what is free on a disk that a segment, and the one after it, take up.
    static let segmentsPerDisk = 4
    /// Bytes of room that are kept reserved behind the end of a segment, so that a full disk
    /// shows before a write is promised and not after.
    static let reservedBytes = 524_288
    /// The same behind a segment whose file was made beforehand.
    static let preparedRoomBytes = 262_144
    /// Bytes that the journal may take up beside twice the state, three times while a snapshot is made, the
    /// history and the largest record.
    public static let promisedBytes = 4_194_304
    /// Bytes of that which are left to the file system, which gives room block by block.
    static let roundingBytes = 262_144
    /// Bytes of that which ended segments and the last snapshot may take up. With a segment, the next
    /// one and the room of both it comes to less.
    public static let slackBytes = 1_638_400
    /// Bytes that are written while a snapshot is made before the loop rests for it, and more as it
    /// comes along: in the end so much of the state.
    static let unpacedBytes = 1_048_576
    static let pacedPart = 4
    /// Bytes for which the loop rests once, a quarter of a millisecond.
    static let bytesPerRest = 1_024
    static let restSeconds = 0.000_25
    /// Bytes of a large snapshot that are brought to disk at a time, so that it comes along evenly.
    static let snapshotSyncBytes = 16_777_216
    /// Bytes that are free at the start, below which a snapshot is made before anything is written.
    static let shortBytes = 262_144
    /// Bytes that are free at the end, below which room stays reserved for the next start.
    static let smallDiskBytes = 67_108_864
    /// A state that is put together where the disk is full while writes wait; they are refused
    /// meanwhile where it is larger.
    static let awaitedStateBytesMax = 16_777_216
    /// Bytes written, or gone from the state, that a snapshot is at least made for; and as a part of the
    /// state, so that little is rewritten for what was written.
    static let workBytesMin = 65_536
    static let workShare = (2, 3)
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
    public static let fastHalfNanoseconds: UInt64 = 10_000_000
    /// So many syncs at least go by until they are used up; else it isn't worth it.
    static let syncsPerLayingOutMin = 4
    /// Replies waiting for a sync, up to which a quick disk is waited for in place.
    public static let inPlaceMax = 64
    /// A sync that takes no longer is quick.
    static let quickSyncNanoseconds: UInt64 = 1_000_000
    /// Syncs that must have been quick, one after the other, before one is waited for.
    static let quickSyncsMin = 16
    /// And how many segments at most, however small they are, if the history is no longer than that
    /// many: a broker that is started again and again leaves one each time.
    static let historySegmentsMax = 256
    static func segmentsKeptMax(historyBytes: Int) -> Int {
        max(historySegmentsMax, historyBytes / (segmentBytes / 2))
    }
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
