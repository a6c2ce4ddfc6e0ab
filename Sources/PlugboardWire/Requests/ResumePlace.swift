// Up to which revision a subscription knows everything. It resumes there on another connection, and
// nothing comes twice. Revisions never decrease within a subscription, so everything before the
// newest is known. The events of a batch share a revision, so for the newest one it keeps the keys
// that came.

/// Where a subscription goes on.
public struct ResumePlace: Sendable {
    /// Everything up to it has come; nil while nothing is known.
    public private(set) var revision: UInt64?
    /// The life of the revision counter that it belongs to.
    public private(set) var epoch = ""
    /// That of this connection.
    private var presentEpoch = ""
    private var newest: UInt64 = 0
    /// The keys that came with the newest revision.
    private var keys: [String] = []
    /// The snapshot is on its way: nothing is known before `synced`.
    private var isInSnapshot = false
    /// Keys of the newest revision may come once more.
    private var mayRepeat = false
    /// Of these keys one write that was told is counted once more by the first `skipped`.
    private var counted: Set<String> = []

    public init() {}

    /// A broker agreed to the subscription, at a revision.
    public mutating func begin(epoch: String, revision: UInt64, isResumed: Bool, hasSnapshot: Bool) {
        presentEpoch = epoch
        isInSnapshot = hasSnapshot && !isResumed
        mayRepeat = isResumed
        counted = isResumed ? Set(keys) : []
        if isResumed { return }
        (newest, keys) = (hasSnapshot ? 0 : revision, [])
        if !hasSnapshot { know(revision) }
    }

    /// Notes an `update`, `delete` or `leave`; false if it came before the connection broke.
    public mutating func isNews(key: String, revision: UInt64) -> Bool {
        advance(to: revision)
        if mayRepeat, revision == newest, keys.contains(key) { return false }
        keys.append(key)
        return true
    }

    /// How many of the writes before it an event stands for, of those that `skipped` counts.
    public mutating func skipped(_ count: UInt64, key: String) -> UInt64 {
        count > 0 && counted.remove(key) != nil ? count - 1 : count
    }

    /// Notes the revision of an event, such as an `emit`.
    public mutating func advance(to revision: UInt64) {
        guard revision > newest else { return }
        newest = revision
        keys.removeAll(keepingCapacity: true)
        mayRepeat = false
        if !isInSnapshot, self.revision != nil { self.revision = revision - 1 }
    }

    /// Notes `synced`. It has the revision of the line before it if more of the same is on its way.
    public mutating func finish(at revision: UInt64) {
        let isAll = revision > newest
        if isAll { (newest, keys) = (revision, []) }
        (isInSnapshot, mayRepeat) = (false, false)
        know(isAll ? revision : max(newest, 1) - 1)
    }

    private mutating func know(_ revision: UInt64) {
        (self.revision, epoch) = (revision, presentEpoch)
    }
}
