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
    public var sync: SyncMode
    /// Bytes of ended segments to keep as history.
    public var historyBytes: Int
    /// Whether the program before had this journal's lock until now, so that it is no copy.
    public var isGoingOn = false
    /// A segment ends after this many bytes. Only tests set it.
    public var segmentBytes: Int
    /// A snapshot is made when ended segments have more bytes. Only tests set it.
    public var looseBytes: Int
    /// Only tests set it.
    public var slackBytes: Int
    /// Only tests set it.
    public var laidOutBytes: Int
    /// Only tests set it.
    public var fastHalfNanoseconds: UInt64

    public init(
        sync: SyncMode = .interval,
        historyBytes: Int = JournalLimits.historyBytesDefault,
        segmentBytes: Int = JournalLimits.segmentBytes,
        looseBytes: Int = JournalLimits.looseBytesMax,
        slackBytes: Int = JournalLimits.slackBytes,
        laidOutBytes: Int = JournalLimits.laidOutBytes,
        fastHalfNanoseconds: UInt64 = JournalLimits.fastHalfNanoseconds
    ) {
        self.sync = sync
        self.historyBytes = historyBytes
        self.segmentBytes = segmentBytes
        self.looseBytes = looseBytes
        self.slackBytes = slackBytes
        self.laidOutBytes = laidOutBytes
        self.fastHalfNanoseconds = fastHalfNanoseconds
    }
}
