// The settings of a journal. The user chooses the sync mode and the length of the history. The others are
// for tests, which need small files.

/// When written bytes are synced to disk. Durable writes are synced in every mode.
public enum SyncMode: String, CaseIterable, Sendable {
    /// Before anybody hears of a write.
    case always
    /// Once a second.
    case interval
    /// Whenever the system does it.
    case never
}

/// The settings of one journal.
public struct JournalOptions: Sendable {
    public var sync = SyncMode.interval
    /// Bytes of ended segments to keep as history.
    public var historyBytes = JournalLimits.historyBytesDefault
    /// Whether the program before had this journal's lock until now, so that it is no copy.
    public var isGoingOn = false
    /// The shortest and the longest segment.
    var segmentBytes = JournalLimits.segmentBytes
    /// What the journal may take up on a large disk besides.
    var leewayBytes = JournalLimits.leewayBytes
    /// So much may wait for the disk before clients are slowed down.
    var waitingBytes = JournalLimits.waitingBytesMin
    var slackBytes = JournalLimits.slackBytes
    var laidOutBytes = JournalLimits.laidOutBytes
}

extension JournalOptions {
    public init(sync: SyncMode) {
        self.init()
        self.sync = sync
    }
}

// All limits of the journal. The size that the specification promises follows from them. Tests lower some
// of them through `JournalOptions`.

/// The journal's limits.
public enum JournalLimits {
    /// Bytes of one record with its line feed. Only a batch of patches can come near it.
    public static let recordBytesMax = 16_777_216
    /// The highest number of a file: 2^53 − 1.
    public static let fileNumberMax: UInt64 = 9_007_199_254_740_991
    /// The bytes after which a segment ends. The first is the shortest. If one fills within
    /// `segmentFastNanoseconds`, the next is twice as long, and half as long if it takes longer than
    /// `segmentSlowNanoseconds`. It is longer if the state is large: 1/`segmentsPerState` of it. On a small disk
    /// it ends earlier, but not before `smallSegmentBytesMin`.
    public static let segmentBytes = 262_144...16_777_216
    static let segmentFastNanoseconds: UInt64 = 250_000_000
    static let segmentSlowNanoseconds: UInt64 = 4_000_000_000
    static let segmentsPerState = 16
    static let smallSegmentBytesMin = 65_536
    /// A segment takes up at most 1/4 of the disk's free room.
    static let segmentsPerDisk = 4
    /// Bytes to keep reserved after the end of a segment. So the broker sees that the disk is full before
    /// it accepts a write.
    static let reservedBytes = 262_144
    /// Half of that after a segment whose file was made ahead. After a long one it is 1/`preparedRoomPart` of it, so that
    /// what a turn writes beyond its end finds room.
    static let preparedRoomPart = 32
    /// What the journal may take up, in bytes, besides the history, the largest record and twice the
    /// state (three times while a snapshot is made).
    public static let promisedBytes = 4_194_304
    /// What it may take up besides, where the disk is large: so much as is written in `leewaySeconds`, within
    /// these bounds, and at most 1/`leewaysPerDisk` of what is free. If that is no more than `promisedBytes`, it
    /// is nothing.
    public static let leewayBytes = 268_435_456...2_147_483_648
    public static let leewaySeconds = 2
    public static let leewaysPerDisk = 16
    /// A segment has at most this part of it.
    static let segmentsPerLeeway = 16
    /// The part of `promisedBytes` for file systems, which allocate whole blocks.
    static let roundingBytes = 262_144
    /// The part of `promisedBytes` for ended segments and the last snapshot. The rest is for a segment,
    /// the next segment and the room of both.
    public static let slackBytes = 1_638_400
    /// While a snapshot is made, clients may write as fast as would fill the room that is left in the time that it
    /// will probably still take: as long as the last one in all, but never less than half as long from now on. That
    /// time is taken to be at least this, and the second before the first snapshot.
    static let snapshotNanoseconds: (least: UInt64, first: UInt64) = (10_000_000, 1_000_000_000)
    /// This part of the leeway isn't for them, but for clients that write little.
    static let leewayForFew = 16
    /// Old segments that are still to be removed are no reason to slow clients down while this part of it is left. So
    /// it is seen how fast they would write.
    static let leewayShort = 4
    /// At least this part of it is used before a snapshot is begun, and at most half of it.
    static let leewayUsedMin = 8
    /// Where much waits, it is sent to the disk in pieces of at least this many bytes.
    static let sentBytesMin = 8_388_608
    /// If more waits for the disk, and more than it takes in two seconds, clients are slowed down.
    public static let waitingBytesMin = 67_108_864
    /// A sync that takes so long is told, and again each time when it has taken twice as long.
    static let lagToldNanoseconds: UInt64 = 2_000_000_000
    /// A snapshot is written in pieces of this many bytes.
    static let snapshotPieceBytes = 65_536
    /// It is synced after each this many bytes.
    static let snapshotSyncBytes = 16_777_216
    /// If less is free at the start, the history goes before anything is written.
    static let shortBytes = 262_144
    /// If less is free at the end, room stays reserved for the next start.
    static let smallDiskBytes = 67_108_864
    /// If the disk is full and the state is at most this large, writes wait for a snapshot. If the state
    /// is larger, they are refused meanwhile.
    static let awaitedStateBytesMax = 16_777_216
    /// A snapshot is worthwhile if it leaves out at least this many bytes, and this share of the state. So little is
    /// rewritten.
    static let workBytesMin = 65_536
    static func share(of live: Int) -> Int { live / 3 * 2 }
    /// Writes are refused when less room is left. The rest is for what the broker itself must write.
    static let roomBytesMin = 65_536
    /// A snapshot is made when there are more ended segments than this, however small they are.
    public static let looseSegmentsMax = 64
    /// While more of a snapshot waits to be written, no more values are added.
    static let snapshotWaitingBytesMax = 8_388_608
    /// Bytes of ended segments that are kept as history, unless the user chooses another number.
    public static let historyBytesDefault = 67_108_864
    /// How many bytes are laid out at a time for durable writes that the loop syncs itself.
    public static let laidOutBytes = 524_288
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
        max(historySegmentsMax, historyBytes / (segmentBytes.lowerBound / 2))
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
    /// How many bytes are looked at for that. This takes a few milliseconds.
    static let pieceReadBytesMax = 1_048_576
    /// How many bytes to read of a file for its first line.
    static let headerReadBytes = 4_096
    /// How many bytes to copy, or to keep for the next turn, at a time.
    static let readBytes = 1_048_576
    /// How many bytes of lines to read at a time: they are looked at while they are in the processor's cache.
    static let lineReadBytes = 131_072
}
