// All limits of the journal, in one place. What the specification
// promises about its size follows from them. Tests set some of them lower
// through `JournalOptions`.

/// The journal's limits.
public enum JournalLimits {
    /// Bytes of one record, with its line feed. A batch of patches can be the longest.
    public static let recordBytesMax = 16_777_216
    /// The highest number that a file may have.
    public static let fileNumberMax: UInt64 = 9_007_199_254_740_991
    /// After this many bytes, a segment ends and the next one begins. It is a sixteenth of the
    /// state if that is more, up to `segmentBytesMax`. On a small disk it is less.
    public static let segmentBytes = 786_432
    static let segmentBytesMax = 268_435_456
    static let segmentsPerState = 16
    static let smallSegmentBytesMin = 65_536
    /// A segment, and the next one, take up at most this part of a disk's free room.
    static let segmentsPerDisk = 4
    /// Bytes of room that are kept reserved after the end of a segment, so that a full disk shows
    /// before a write is promised and not after.
    static let reservedBytes = 524_288
    /// The same for a segment whose file was made ahead.
    static let preparedRoomBytes = 262_144
    /// What the journal may take up beside the history, the largest record and twice the state
    /// (three times while a snapshot is made), in bytes.
    public static let promisedBytes = 4_194_304
    /// Bytes of `promisedBytes` for the file system, which gives out room in blocks.
    static let roundingBytes = 262_144
    /// Bytes of `promisedBytes` for ended segments and the last snapshot. With a segment, the next
    /// one and the room of both, this is less than all of it.
    public static let slackBytes = 1_638_400
    /// While a large snapshot is made, this many bytes may be written before the loop rests. More
    /// are allowed as the snapshot gets on: in the end a `pacedPart`th of the state.
    static let unpacedBytes = 1_048_576
    static let pacedPart = 4
    /// The loop rests once for this many bytes, a quarter of a millisecond.
    static let bytesPerRest = 1_024
    static let restSeconds = 0.000_25
    /// A large snapshot is brought to disk after each so many bytes, so that it gets on evenly.
    static let snapshotSyncBytes = 16_777_216
    /// With less free room than this at the start, a snapshot is made before anything is written.
    static let shortBytes = 262_144
    /// With less free room than this at the end, room stays reserved for the next start.
    static let smallDiskBytes = 67_108_864
    /// When the disk is full, writes wait for a snapshot of a state up to this size. With a larger
    /// state they are refused meanwhile.
    static let awaitedStateBytesMax = 16_777_216
    /// A snapshot needs at least this many bytes that were written, or gone from the state, since
    /// the last one; and at least `workShare` of the state (2 of 3), so that little is rewritten.
    static let workBytesMin = 65_536
    static let workShare = (2, 3)
    /// With less room than this, writes are refused, so that there is room for what the broker
    /// itself must write.
    static let roomBytesMin = 65_536
    /// With more bytes of ended segments than this, a snapshot is made; or with more than twice
    /// the size of the last snapshot, if that is larger.
    public static let looseBytesMax = 33_554_432
    /// With more ended segments than this, a snapshot is made, however small they are.
    public static let looseSegmentsMax = 64
    /// The loop itself writes a state up to this size for a snapshot, which takes less than a
    /// millisecond.
    public static let stateKeysMax = 4_096
    public static let stateBytesMax = 1_048_576
    /// Bytes of ended segments that are kept as history, unless the user chooses another number.
    public static let historyBytesDefault = 67_108_864
    /// Bytes that are laid out at a time for durable writes that come one by one.
    public static let laidOutBytes = 262_144
    /// If the first half of a segment fills in less time, all of the next one is laid out: it will
    /// be overwritten before the system brings the room to disk.
    public static let fastHalfNanoseconds: UInt64 = 10_000_000
    /// Room is laid out only if it lasts for at least this many syncs.
    static let syncsPerLayingOutMin = 4
    /// With at most this many replies that wait for a sync, the loop itself waits for a quick
    /// disk.
    public static let inPlaceMax = 64
    /// A sync that takes at most this long is quick.
    static let quickSyncNanoseconds: UInt64 = 1_000_000
    /// The loop waits for a sync only after this many quick ones in a row.
    static let quickSyncsMin = 16
    /// The most ended segments to keep as history, however small they are: a broker that is started
    /// again and again leaves one each time. A long history may have more.
    static let historySegmentsMax = 256
    static func segmentsKeptMax(historyBytes: Int) -> Int {
        max(historySegmentsMax, historyBytes / (segmentBytes / 2))
    }
    /// More bytes than the history that stay while a client reads them to catch up.
    static let readingBytesMax = 268_435_456
    /// Of the files with a torn end, this many of the newest are kept.
    static let tornFilesMax = 16
    /// If what asks for a snapshot has collected this many times over, the broker makes one before
    /// it serves anybody, because earlier brokers never lived long enough to make one.
    static let overdueFactor = 4
    /// Bytes and records that are read at a time for a client that catches up.
    static let pieceBytesMax = 262_144
    static let pieceRecordsMax = 1_024
    /// Bytes to read from a file for its first line.
    static let headerReadBytes = 4_096
    /// Bytes to read from a file at a time.
    static let readBytes = 1_048_576
}
