// What a journal is told when it is opened.

/// When what was written goes from the system's memory to the disk.
public enum SyncMode: String, CaseIterable, Sendable {
    /// Before anybody is told of it.
    case always
    /// Once a second.
    case interval
    /// When the system pleases.
    case never
}

/// The settings of one journal.
public struct JournalOptions: Sendable {
    public var sync: SyncMode
    /// Bytes of ended segments that are kept for who comes back.
    public var historyBytes: Int
    /// Bytes past which a segment ends; for tests, else `JournalLimits.segmentBytes`.
    public var segmentBytes: Int
    /// Bytes of ended segments past which a snapshot is made.
    public var looseBytes: Int
    /// For tests, else `JournalLimits.slackBytes`.
    public var slackBytes: Int
    /// Bytes laid out at a time; for tests, else `JournalLimits.laidOutBytes`.
    public var laidOutBytes: Int
    /// For tests, else `JournalLimits.fastHalfNanoseconds`.
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
