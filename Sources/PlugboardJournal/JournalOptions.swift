// The settings of a journal when it is opened. The user chooses the
// sync mode and the length of the history. The others are for tests,
// which need small files.

/// When the system's memory is brought to disk.
public enum SyncMode: String, CaseIterable, Sendable {
    /// Before anybody is told of a write.
    case always
    /// Once a second.
    case interval
    /// When the system chooses.
    case never
}

/// The settings of one journal.
public struct JournalOptions: Sendable {
    public var sync: SyncMode
    /// Bytes of ended segments that are kept as history.
    public var historyBytes: Int
    /// After so many bytes a segment ends. Tests set it; otherwise `JournalLimits.segmentBytes`.
    public var segmentBytes: Int
    /// With more bytes of ended segments than this, a snapshot is made.
    public var looseBytes: Int
    /// Tests set it; otherwise `JournalLimits.slackBytes`.
    public var slackBytes: Int
    /// Bytes that are laid out at a time. Tests set it; otherwise `JournalLimits.laidOutBytes`.
    public var laidOutBytes: Int
    /// Tests set it; otherwise `JournalLimits.fastHalfNanoseconds`.
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
