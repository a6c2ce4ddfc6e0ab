// The bridge's limits. Everything that it keeps or sends has one.

enum BridgeLimits {
    /// Operations in one transaction of etcd (its `--max-txn-ops`).
    static let transactionKeysMax = 128
    /// Bytes of values and keys in one transaction. etcd takes 1.5 MiB; a single larger write goes alone.
    static let transactionBytesMax = 1_000_000
    /// Bytes of one batch to the bus, whose lines may have somewhat more than 1 MiB.
    static let batchBytesMax = 900_000
    /// Writes in one batch to the bus, which takes 1,024.
    static let batchWritesMax = 1_000
    /// Conflicts that are kept on the bus.
    static let conflictsMax = 100
    /// Values that etcd has refused, remembered as values of this bus alone.
    static let refusedMax = 100
    /// Bytes of a value that crosses. On the bus, the cursor, the key and the writer share its line.
    static let valueBytesMax = 1_000_000
    /// Bytes of a host's name.
    static let hostBytesMax = 255
    /// Keys of etcd that no bus can have, remembered until they are written or deleted there.
    static let refusalsMax = 1_000
    /// How many of them the status names.
    static let namedMax = 10
    /// Bytes of such a key's name.
    static let namedBytesMax = 256
    /// How often a write from etcd is tried again because somebody on the bus writes the same key.
    static let attemptsMax = 16
    /// After so many attempts, the bridge doubts what it knows, and compares everything.
    static let doubtfulAttemptsMax = 64
    /// Other hosts with a connection to the bus. Values of still others come over the bridge's own.
    static let hostsMax = 256
    /// Keys in one page of a range at first.
    static let pageKeysMax = 1_000
    /// Bytes of one answer. If a page of the range is larger, smaller pages are asked for.
    static let answerBytesMax = 16_777_216
    /// Unhandled bytes of a watch. Beyond that, the watch begins again after the handled ones.
    static let watchBytesMax = 67_108_864
}
