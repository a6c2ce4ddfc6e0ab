// The bridge's limits. Everything that it keeps or sends has one.

enum BridgeLimits {
    /// Operations in one transaction of etcd (its `--max-txn-ops`).
    static let transactionKeysMax = 128
    /// Bytes of values and keys in one transaction. etcd takes 1.5 MiB; a single larger write goes alone.
    static let transactionBytesMax = 1_000_000
    /// Bytes of one batch to the bus, whose lines may have 1 MiB.
    static let batchBytesMax = 900_000
    /// Writes in one batch to the bus, which takes 1,024.
    static let batchWritesMax = 1_000
    /// Conflicts that are kept on the bus.
    static let conflictsMax = 100
    /// Values that etcd has refused, remembered as values of this bus alone.
    static let refusedMax = 100
    /// How often a write from etcd is tried again because somebody on the bus writes the same key.
    static let attemptsMax = 16
    /// After so many attempts, the bridge doubts what it knows, and compares everything.
    static let doubtfulAttemptsMax = 64
    /// Other hosts with a connection to the bus. Values of still others come over the bridge's own.
    static let hostsMax = 256
    /// Keys in one page of a range.
    static let pageKeysMax = 1_000
    /// Bytes of one answer. A page of the range is as large as its keys and values.
    static let answerBytesMax = 1_073_741_824
    /// Unhandled bytes of a watch. Beyond that, the watch begins again after the handled ones.
    static let watchBytesMax = 67_108_864
}
