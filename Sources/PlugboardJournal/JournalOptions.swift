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
    /// The shortest and the longest segment. Only tests set it.
    public var segmentBytes: ClosedRange<Int>
    /// What the journal may take up on a large disk besides. Only tests set it.
    public var leewayBytes: ClosedRange<Int>
    /// A snapshot is made when ended segments have more bytes. Only tests set it.
    public var looseBytes: Int
    /// So much may wait for the disk before clients are slowed down. Only tests set it.
    public var waitingBytes = JournalLimits.waitingBytesMin
    /// Only tests set it.
    public var slackBytes: Int
    /// Only tests set it.
    public var laidOutBytes: Int

    public init(
        sync: SyncMode = .interval,
        historyBytes: Int = JournalLimits.historyBytesDefault,
        segmentBytes: ClosedRange<Int> = JournalLimits.segmentBytes,
        leewayBytes: ClosedRange<Int> = JournalLimits.leewayBytes,
        looseBytes: Int = JournalLimits.looseBytesMax,
        slackBytes: Int = JournalLimits.slackBytes,
        laidOutBytes: Int = JournalLimits.laidOutBytes
    ) {
        self.sync = sync
        self.historyBytes = historyBytes
        self.segmentBytes = segmentBytes
        self.leewayBytes = leewayBytes
        self.looseBytes = looseBytes
        self.slackBytes = slackBytes
        self.laidOutBytes = laidOutBytes
    }

    /// What the journal may take up beyond its tight bound, where so many bytes are free and so many are
    /// written in a second.
    func leeway(free: Int, bytesPerSecond: Int = 0) -> Int {
        let wanted = bytesPerSecond * JournalLimits.leewaySeconds
        let most = min(max(wanted, leewayBytes.lowerBound), leewayBytes.upperBound)
        let leeway = min(most, free / JournalLimits.leewaysPerDisk)
        return leeway > JournalLimits.promisedBytes ? leeway : 0
    }

    /// A snapshot is due when ended segments have more bytes.
    func looseBytesMax(snapshotBytes: Int, leeway: Int) -> Int {
        max(looseBytes, 2 * snapshotBytes, leeway / 2)
    }
}
