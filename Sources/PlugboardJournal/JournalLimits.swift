// All limits of the journal. The size that the specification promises follows from them. Tests lower some
// of them through `JournalOptions`.

/// The journal's limits.
public enum JournalLimits {
    /// Bytes of one record with its line feed. Only a batch of patches can come near it.
    public static let recordBytesMax = 16_777_216
    /// The highest number of a file: 2^53 − 1.
    public static let fileNumberMax: UInt64 = 9_007_199_254_740_991
    /// A segment ends after this many bytes, or after 1/16 of the state if that is more, up to
    /// `segmentBytesMax`. On a small disk it ends earlier, but not before `smallSegmentBytesMin`.
    public static let segmentBytes = 786_432
    static let segmentBytesMax = 268_435_456
    static let segmentsPerState = 16
    static let smallSegmentBytesMin = 65_536
    /// A segment takes up at most 1/4 of the disk's free room.
    static let segmentsPerDisk = 4
    /// Bytes to keep reserved after the end of a segment. So the broker sees that the disk is full before
    /// it accepts a write.
    static let reservedBytes = 524_288
    /// The same, after a segment whose file was made ahead.
    static let preparedRoomBytes = 262_144
    /// What the journal may take up, in bytes, besides the history, the largest record and twice the
    /// state (three times while a snapshot is made).
    public static let promisedBytes = 4_194_304
    /// The part of `promisedBytes` for file systems, which allocate whole blocks.
    static let roundingBytes = 262_144
    /// The part of `promisedBytes` for ended segments and the last snapshot. The rest is for a segment,
    /// the next segment and the room of both.
    public static let slackBytes = 1_638_400
    /// While a large snapshot is made, this many bytes may be written before the loop rests. As the
    /// snapshot goes on, more are allowed: at its end, 1/`pacedPart` of the state.
    static let unpacedBytes = 524_288
    static let pacedPart = 4
    /// For this many bytes the loop rests once, for `restSeconds`. As long as fewer than `slightExcessBytes`
    /// too many were written, it rests at most `restsMax` times in a turn.
    static let bytesPerRest = 1_024
    static let restSeconds = 0.000_25
    static let restsMax = 6
    static let slightExcessBytes = 1_048_576
    /// A large snapshot is read and written in pieces of this many bytes, so that its progress is even.
    static let snapshotPieceBytes = 131_072
    /// It is synced after each this many bytes.
    static let snapshotSyncBytes = 16_777_216
    /// If less is free at the start, a snapshot is made before anything is written.
    static let shortBytes = 262_144
    /// If less is free at the end, room stays reserved for the next start.
    static let smallDiskBytes = 67_108_864
    /// If the disk is full and the state is at most this large, writes wait for a snapshot. If the state
    /// is larger, they are refused meanwhile.
    static let awaitedStateBytesMax = 16_777_216
    /// A snapshot is worthwhile after this many bytes were written or deleted since the last one, and at
    /// least `workShare` (2/3) of the state. So little is rewritten.
    static let workBytesMin = 65_536
    static let workShare = (2, 3)
    /// Writes are refused when less room is left. The rest is for what the broker itself must write.
    static let roomBytesMin = 65_536
    /// A snapshot is made when ended segments have more bytes than this and more than twice the size of
    /// the last snapshot.
    public static let looseBytesMax = 33_554_432
    /// A snapshot is made when there are more ended segments than this, however small they are.
    public static let looseSegmentsMax = 64
    /// The loop itself writes a state of up to this size for a snapshot. That takes less than a
    /// millisecond.
    public static let stateKeysMax = 4_096
    public static let stateBytesMax = 1_048_576
    /// Bytes of ended segments that are kept as history, unless the user chooses another number.
    public static let historyBytesDefault = 67_108_864
    /// How many bytes are laid out at a time for durable writes that the loop syncs itself.
    public static let laidOutBytes = 524_288
    /// If the first half of a segment fills in less time, the next one is laid out completely. The
    /// laid-out bytes are then overwritten before the system writes them to disk.
    public static let fastHalfNanoseconds: UInt64 = 10_000_000
    /// Room is laid out only if it lasts for at least this many syncs.
    static let syncsPerLayingOutMin = 4
    /// On a quick disk, the loop itself waits for a sync if at most this many replies wait for it.
    public static let inPlaceMax = 512
    /// A sync is quick if it takes at most this long.
    static let quickSyncNanoseconds: UInt64 = 1_000_000
    /// The loop itself waits for a sync only after this many quick ones in a row.
    static let quickSyncsMin = 16
    /// The most ended segments to keep as history. A broker that is restarted again and again leaves a
    /// small one each time. A long history may have more.
    static let historySegmentsMax = 256
    static func segmentsKeptMax(historyBytes: Int) -> Int {
        max(historySegmentsMax, historyBytes / (segmentBytes / 2))
    }
    /// How many bytes beyond the history may stay while a client reads them.
    static let readingBytesMax = 268_435_456
    /// How many torn ends are kept: the newest ones.
    static let tornFilesMax = 16
    /// If ended segments exceed the limit for a snapshot this many times over, the broker makes one
    /// before it serves anybody. Earlier brokers then didn't live long enough to make one.
    static let overdueFactor = 4
    /// How many bytes and records are read at a time for a client that catches up.
    static let pieceBytesMax = 262_144
    static let pieceRecordsMax = 1_024
    /// How many bytes to read of a file for its first line.
    static let headerReadBytes = 4_096
    /// How many bytes to read of a file at a time.
    static let readBytes = 1_048_576
}
